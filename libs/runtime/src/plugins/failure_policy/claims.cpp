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

using api::Json;

bool mounts(const Json& pod_spec, std::string_view volume) {
    for (const char* list : {"containers", "initContainers"})
        for (const Json& container : pod_spec[list].items())
            for (const Json& mount : container["volumeMounts"].items())
                if (mount["name"].as_string() == volume) return true;
    return false;
}

void add_volume(Json& job_set_spec, std::string_view volume, const std::string& claim) {
    Json* jobs = job_set_spec.find("replicatedJobs");
    if (!jobs) return;
    for (Json& job : jobs->items()) {
        Json& pod_spec = job["template"]["spec"]["template"]["spec"];
        if (!mounts(std::as_const(pod_spec), volume)) continue;
        Json& volumes = pod_spec["volumes"];
        if (!volumes.is_array()) volumes = Json::array();
        volumes.push_back(Json::object(
            {{"name", volume}, {"persistentVolumeClaim", Json::object({{"claimName", claim}})}}));
    }
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

api::Result<> check_claims(const Json& job_set_spec) {
    std::set<std::string_view> names;
    const auto invalid = [](std::string_view name, const char* rule) {
        return api::invalid("spec.runtimeRef", "the claim template \"" + std::string(name) +
                                                   "\" in spec.template.spec.volumeClaimPolicies of the "
                                                   "runtime " +
                                                   rule);
    };
    for (const Json& policy : job_set_spec["volumeClaimPolicies"].items())
        for (const Json& each : policy["templates"].items()) {
            const std::string_view name = each["metadata"]["name"].as_string();
            if (!api::is_dns_label(name)) return invalid(name, "must be named like a DNS label");
            if (!names.insert(name).second) return invalid(name, "must be there once");
            for (const Json& job : job_set_spec["replicatedJobs"].items())
                if (const Json& pod_spec = pod_spec_of(job); mounts(pod_spec, name))
                    for (const Json& volume : pod_spec["volumes"].items())
                        if (volume["name"].as_string() == name)
                            return invalid(name, "must not have the name of a volume of its Pods");
        }
    return {};
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
    std::vector<Json> claims;
    Json* policies = job_set_spec.find("volumeClaimPolicies");
    if (!policies) return claims;
    for (const Json& policy : std::as_const(*policies).items()) {
        if (api::retains_claims(policy)) continue;
        for (const Json& each : policy["templates"].items()) {
            const std::string_view name = each["metadata"]["name"].as_string();
            const std::string claim = api::job_set_names::claim(train_job, name);
            add_volume(job_set_spec, name, claim);
            claims.push_back(claim_of(each, claim, train_job));
        }
    }
    std::erase_if(policies->items(), [](const Json& policy) { return !api::retains_claims(policy); });
    if (policies->items().empty()) job_set_spec.erase("volumeClaimPolicies");
    return claims;
}

}  // namespace runtime
