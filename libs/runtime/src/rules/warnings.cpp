#include "api/condition.hpp"
#include "api/job_set_names.hpp"
#include "api/names.hpp"
#include "rules/validation_context.hpp"
#include "template/forbidden_fields.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::Json;

constexpr std::string_view deprecation_policy =
    "https://www.kubeflow.org/docs/components/trainer/operator-guides/runtime/#runtime-deprecation-policy";

}  // namespace

bool is_deprecated(const Json& runtime) {
    return runtime["metadata"]["labels"][api::support_label].as_string() == "deprecated";
}

std::string deprecation_warning(std::string_view kind, std::string_view name) {
    return std::string(kind) + " \"" + shortened(name) + "\" is deprecated: see " +
           std::string(deprecation_policy);
}

std::string shared_subdomain(const Json& runtime) {
    return api::job_set_names::service("", runtime["spec"]["template"]["spec"]);
}

std::string subdomain_warning(std::string_view where) {
    return std::string(where) +
           ": TrainJobs share the first one's Service, which finds its Pods only; leave it out";
}

namespace {

void warn_of_deprecated_runtime(const ValidationContext& review, api::Warnings& warnings) {
    if (is_deprecated(review.runtime))
        warnings.push_back(deprecation_warning(review.job.runtime_ref.kind, review.job.runtime_ref.name));
}

void warn_of_ignored_fields(const ValidationContext& review, api::Warnings& warnings) {
    if (forbidden_fields(review.runtime["spec"]["template"]["spec"]).empty()) return;
    warnings.push_back("a deadline or TTL in the template of runtime \"" +
                       shortened(review.job.runtime_ref.name).substr(0, 40) + "\" is ignored");
}

void warn_of_resources_without_policy(const ValidationContext& review, api::Warnings& warnings) {
    if (!review.job.spec["trainer"]["resourcesPerNode"].empty() &&
        !review.runtime["spec"]["mlPolicy"].is_object())
        warnings.push_back("spec.trainer.resourcesPerNode has no effect: the runtime has no mlPolicy");
}

void warn_of_shared_subdomain(const ValidationContext& review, api::Warnings& warnings) {
    if (!shared_subdomain(review.runtime).empty())
        warnings.push_back(subdomain_warning("the runtime has a network.subdomain"));
}

// What was seen of the Service, since the job has its JobSet and waits with it.
void warn_of_taken_service(const ValidationContext& review, api::Warnings& warnings) {
    if (review.is_create() || !review.old_job->suspend || review.job.suspend) return;
    const api::Condition* stalled = api::find_condition(review.old_job->conditions, api::condition::stalled);
    if (stalled && stalled->is_true() && stalled->reason == api::reason::service_taken)
        warnings.push_back(stalled->message);
}

constexpr Warner of_runtimes[] = {
    {Rule::deprecated_runtime_used, warn_of_deprecated_runtime, RuleInput::runtime, AppliesTo::creations},
    {Rule::ignored_time_limits, warn_of_ignored_fields, RuleInput::runtime, AppliesTo::new_ones},
    {Rule::resources_without_policy, warn_of_resources_without_policy, RuleInput::runtime,
     AppliesTo::new_ones},
};
constexpr Warner of_subdomains[] = {
    {Rule::shared_subdomain, warn_of_shared_subdomain, RuleInput::runtime, AppliesTo::new_ones},
    {Rule::service_taken, warn_of_taken_service, RuleInput::job, AppliesTo::every_update},
};

}  // namespace

constinit const std::span<const Warner> runtime_warnings = of_runtimes;
constinit const std::span<const Warner> subdomain_warnings = of_subdomains;

}  // namespace runtime
