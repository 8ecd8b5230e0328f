#include "claims.hpp"

#include "edit.hpp"

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

void check_references(const Json& claims, const Json& pod_spec, const std::string& path,
                      FieldErrors& errors) {
    for (std::size_t i = 0; i < claims.items().size(); ++i) {
        const Json& name = claims[i]["name"];
        if (!find_named(pod_spec["resourceClaims"], name.as_string()))
            refuse(path + item(".claims", i) + ".name", name,
                   "no such claim: it must be in resourceClaims of the Pod", errors);
    }
}

void check_pod(const Json& pod_spec, const std::string& path, FieldErrors& errors) {
    const auto& claims = pod_spec["resourceClaims"].items();
    for (std::size_t i = 0; i < claims.size(); ++i)
        if (claims[i]["resourceClaimName"].is_null() == claims[i]["resourceClaimTemplateName"].is_null())
            refuse(path + item(".resourceClaims", i), claims[i]["name"],
                   "must have exactly one of resourceClaimName and resourceClaimTemplateName", errors);
    for (const std::string_view list : {"initContainers", "containers"}) {
        const auto& containers = pod_spec[list].items();
        for (std::size_t i = 0; i < containers.size(); ++i)
            check_references(containers[i]["resources"]["claims"], pod_spec,
                             path + "." + item(list, i) + ".resources", errors);
    }
}

}  // namespace

FieldErrors claim_faults(const Json& job_set_spec) {
    FieldErrors errors;
    const auto& jobs = job_set_spec["replicatedJobs"].items();
    for (std::size_t i = 0; i < jobs.size(); ++i)
        check_pod(jobs[i]["template"]["spec"]["template"]["spec"],
                  "spec.template.spec." + item("replicatedJobs", i) + ".template.spec.template.spec", errors);
    return errors;
}

FieldErrors claim_faults_of_trainer(const Json& job, const Json& per_node) {
    FieldErrors errors;
    check_references(per_node["claims"], job["template"]["spec"]["template"]["spec"],
                     "spec.trainer.resourcesPerNode", errors);
    return errors;
}

}  // namespace runtime
