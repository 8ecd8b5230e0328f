#include "build/failure_rules.hpp"

#include <algorithm>

#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::Json;

// Returns whether a podFailurePolicy says no more than that Pods which are disrupted have not failed.
bool ignores_disruptions_alone(const Json& policy) {
    const auto& rules = policy["rules"].items();
    return !rules.empty() && std::all_of(rules.begin(), rules.end(), [](const Json& rule) {
        const auto& conditions = rule["onPodConditions"].items();
        return rule["action"] == "Ignore" && conditions.size() == 1 &&
               conditions.front()["type"] == "DisruptionTarget" &&
               (conditions.front()["status"].empty() || conditions.front()["status"] == "True");
    });
}

// Returns whether a member decides about failures. `podReplacementPolicy: Failed` decides nothing: Jobs with
// a podFailurePolicy replace a Pod once it has failed, and no sooner. Nor do disruptions that are ignored:
// they do not count under a failure policy either.
bool decides(std::string_view member, const Json& value) {
    if (member == "podFailurePolicy" && ignores_disruptions_alone(value)) return false;
    return !value.is_null() && !(member == "podReplacementPolicy" && value == "Failed");
}

}  // namespace

const Json& failure_policy_of(const Json& runtime) { return runtime["spec"]["runPolicy"]["failurePolicy"]; }

bool has_container(const Json& pod_spec, std::string_view name) {
    for (const char* list : {"containers", "initContainers"})
        for (const Json& container : pod_spec[list].items())
            if (container["name"].as_string() == name) return true;
    return false;
}

std::vector<TemplateField> failure_handling(const Json& job_set_spec) {
    std::vector<TemplateField> found;
    if (const Json& policy = job_set_spec["failurePolicy"]; !policy.is_null())
        found.push_back({"spec.template.spec.failurePolicy", "", "failurePolicy", policy});
    const auto& jobs = job_set_spec["replicatedJobs"].items();
    for (std::size_t i = 0; i < jobs.size(); ++i)
        for (const char* member :
             {"podFailurePolicy", "backoffLimitPerIndex", "maxFailedIndexes", "podReplacementPolicy"})
            if (const Json& value = jobs[i]["template"]["spec"][member]; decides(member, value))
                found.push_back({replicated_job_path(i) + ".template.spec." + member,
                                 std::string(jobs[i]["name"].as_string()), member, value});
    return found;
}

api::FieldErrors job_failure_policy_errors(const Json& runtime, const api::TrainJob& job) {
    api::FieldErrors errors;
    if (job.spec["failurePolicy"].is_null()) return errors;
    const auto deciding = failure_handling(runtime["spec"]["template"]["spec"]);
    if (!deciding.empty())
        errors.push_back({api::FieldErrorType::forbidden,
                          "spec.failurePolicy",
                          {},
                          deciding.front().path + " of the runtime decides",
                          {}});
    return errors;
}

}  // namespace runtime
