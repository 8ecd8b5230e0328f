#include "plugins/failure_policy/claims.hpp"

#include <set>
#include <utility>

#include "api/claim_policy.hpp"
#include "api/dns_label.hpp"
#include "api/job_set_names.hpp"
#include "api/names.hpp"
#include "api/resource.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::FieldErrorType;
using api::Json;

using Names = std::set<std::string_view>;

// Returns the names of the volumes that containers of a Pod mount.
Names mounts_of(const Json& pod_spec) {
    Names names;
    for (const char* list : {"containers", "initContainers"})
        for (const Json& container : pod_spec[list].items())
            for (const Json& mount : container["volumeMounts"].items())
                names.insert(mount["name"].as_string());
    return names;
}

// Adds those of the volumes to a Pod that it mounts.
void add_volumes(Json& pod_spec, const std::vector<Json>& volumes) {
    Json added = Json::array();
    const Names mounted = mounts_of(std::as_const(pod_spec));
    for (const Json& volume : volumes)
        if (mounted.contains(volume["name"].as_string())) added.push_back(volume);
    if (added.items().empty()) return;
    Json& present = pod_spec["volumes"];
    if (!present.is_array()) present = Json::array();
    for (Json& volume : added.items()) present.push_back(std::move(volume));
}

Json claim_of(const Json& claim_template, const std::string& name, const std::string& train_job) {
    Json claim = Json::object({{"apiVersion", "v1"}, {"kind", "PersistentVolumeClaim"}});
    Json& metadata = claim["metadata"];
    metadata["name"] = name;
    for (const char* member : {"labels", "annotations"})
        if (const Json& given = claim_template["metadata"][member]; given.is_object())
            metadata[member] = given;
    metadata["labels"][api::job_set_name_label] = train_job;
    claim["spec"] = claim_template["spec"];
    return claim;
}

}  // namespace

api::FieldErrors claim_template_errors(const Json& job_set_spec) {
    Names mounted, volumes, names;
    for (const Json& job : job_set_spec["replicatedJobs"].items()) {
        const Json& pod_spec = pod_spec_of(job);
        mounted.merge(mounts_of(pod_spec));
        for (const Json& volume : pod_spec["volumes"].items()) volumes.insert(volume["name"].as_string());
    }
    api::FieldErrors errors;
    const auto& policies = job_set_spec["volumeClaimPolicies"].items();
    for (std::size_t i = 0; i < policies.size(); ++i) {
        const auto& templates = policies[i]["templates"].items();
        for (std::size_t j = 0; j < templates.size(); ++j) {
            const std::string_view name = templates[j]["metadata"]["name"].as_string();
            const auto refuse = [&](const char* rule, FieldErrorType type = FieldErrorType::invalid) {
                errors.push_back({type,
                                  "spec.template.spec.volumeClaimPolicies[" + std::to_string(i) +
                                      "].templates[" + std::to_string(j) + "].metadata.name",
                                  name,
                                  rule,
                                  {}});
            };
            if (!api::is_dns_label(name)) refuse("must be named like a DNS label");
            if (!names.insert(name).second) refuse("must be there once", FieldErrorType::duplicate);
            if (volumes.contains(name)) refuse("must not have the name of a volume of the Pods");
            if (!mounted.contains(name)) refuse("must be mounted by a container of the Pods");
        }
    }
    return errors;
}

void add_claim_needs(const Json& job_set_spec, const api::ObjectKey& train_job, Needs& all) {
    for (const Json& policy : job_set_spec["volumeClaimPolicies"].items()) {
        if (api::retains_claims(policy)) continue;
        for (const Json& each : policy["templates"].items()) {
            const std::string_view name = each["metadata"]["name"].as_string();
            all.objects.push_back({.resource = api::resources::volume_claims,
                                   .key = {train_job.ns, api::job_set_names::claim(train_job.name, name)},
                                   .apply = ApplyPolicy::once});
        }
    }
}

std::vector<Json> take_claims(Json& job_set_spec, const std::string& train_job) {
    std::vector<Json> claims, volumes;
    Json* policies = job_set_spec.find("volumeClaimPolicies");
    if (!policies) return claims;
    for (const Json& policy : std::as_const(*policies).items()) {
        if (api::retains_claims(policy)) continue;
        for (const Json& each : policy["templates"].items()) {
            const std::string_view name = each["metadata"]["name"].as_string();
            const std::string claim = api::job_set_names::claim(train_job, name);
            volumes.push_back(Json::object(
                {{"name", name}, {"persistentVolumeClaim", Json::object({{"claimName", claim}})}}));
            claims.push_back(claim_of(each, claim, train_job));
        }
    }
    if (Json* jobs = job_set_spec.find("replicatedJobs"))
        for (Json& job : jobs->items()) add_volumes(job["template"]["spec"]["template"]["spec"], volumes);
    std::erase_if(policies->items(), [](const Json& policy) { return !api::retains_claims(policy); });
    if (policies->items().empty()) job_set_spec.erase("volumeClaimPolicies");
    return claims;
}

}  // namespace runtime
