#include "resources/claims.hpp"

#include <set>

#include "template/edit.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::FieldErrors;
using api::FieldErrorType;
using api::Json;

std::string item(std::string_view list, std::size_t index) {
    return std::string(list) + "[" + std::to_string(index) + "]";
}

void refuse(std::string field, const Json& value, std::string rule, FieldErrors& errors) {
    errors.push_back({FieldErrorType::invalid, std::move(field), value, std::move(rule), {}});
}

void check_references(const Json& claims, const Json& pod_spec, api::NamedItems& of_pod,
                      const std::string& path, FieldErrors& errors) {
    for (std::size_t i = 0; i < claims.items().size(); ++i) {
        const Json& name = claims[i]["name"];
        if (!of_pod.find(pod_spec["resourceClaims"], name.as_string()))
            refuse(path + item(".claims", i) + ".name", name,
                   "no such claim: it must be in resourceClaims of the Pod", errors);
    }
}

// Returns whether a field names no claim.
bool is_none(const Json& name) { return name.is_null() || name == ""; }

void check_pod(const Json& pod_spec, const std::string& path, FieldErrors& errors) {
    const auto& claims = pod_spec["resourceClaims"].items();
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < claims.size(); ++i) {
        if (!names.insert(claims[i]["name"].as_string()).second)
            refuse(path + item(".resourceClaims", i), claims[i]["name"],
                   "has the name of an earlier claim of the Pod", errors);
        if (is_none(claims[i]["resourceClaimName"]) == is_none(claims[i]["resourceClaimTemplateName"]))
            refuse(path + item(".resourceClaims", i), claims[i]["name"],
                   "must have exactly one of resourceClaimName and resourceClaimTemplateName", errors);
    }
    api::NamedItems of_pod;
    for (const std::string_view list : {"initContainers", "containers"}) {
        const auto& containers = pod_spec[list].items();
        for (std::size_t i = 0; i < containers.size(); ++i)
            check_references(containers[i]["resources"]["claims"], pod_spec, of_pod,
                             path + "." + item(list, i) + ".resources", errors);
    }
}

}  // namespace

FieldErrors validate_claims(const Json& job_set_spec) {
    FieldErrors errors;
    const auto& jobs = job_set_spec["replicatedJobs"].items();
    for (std::size_t i = 0; i < jobs.size(); ++i) check_pod(pod_spec_of(jobs[i]), pod_spec_path(i), errors);
    return errors;
}

FieldErrors claim_errors_of_trainer(const Json& job, const Json& per_node) {
    FieldErrors errors;
    api::NamedItems of_pod;
    check_references(per_node["claims"], pod_spec_of(job), of_pod, "spec.trainer.resourcesPerNode", errors);
    return errors;
}

ClaimPlaces::ClaimPlaces(const Json& patches) {
    for (std::size_t i = 0; i < patches.items().size(); ++i) {
        const std::string spec =
            "spec.runtimePatches[" + std::to_string(i) + "].trainingRuntimeSpec.template.spec.";
        std::map<std::string_view, std::string> of_patch;
        const auto& jobs = patches[i]["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"].items();
        for (std::size_t j = 0; j < jobs.size(); ++j)
            add_pod(jobs[j]["template"]["spec"]["template"]["spec"],
                    spec + item("replicatedJobs", j) + ".template.spec.template.spec.", of_patch);
        for (auto& [name, place] : of_patch) places_[name] = std::move(place);
    }
}

void ClaimPlaces::add_pod(const Json& pod_spec, const std::string& path,
                          std::map<std::string_view, std::string>& places) {
    const auto& claims = pod_spec["resourceClaims"].items();
    for (std::size_t i = 0; i < claims.size(); ++i)
        places.emplace(claims[i]["name"].as_string(), path + item("resourceClaims", i));
    for (const std::string_view list : {"initContainers", "containers"}) {
        const auto& containers = pod_spec[list].items();
        for (std::size_t i = 0; i < containers.size(); ++i) {
            const auto& references = containers[i]["resources"]["claims"].items();
            for (std::size_t k = 0; k < references.size(); ++k)
                places.emplace(references[k]["name"].as_string(),
                               path + item(list, i) + ".resources." + item("claims", k) + ".name");
        }
    }
}

std::string ClaimPlaces::find(std::string_view claim) const {
    const auto at = places_.find(claim);
    return at == places_.end() ? std::string() : at->second;
}

}  // namespace runtime
