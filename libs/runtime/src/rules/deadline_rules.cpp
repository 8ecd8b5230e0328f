#include "rules/validation_context.hpp"

namespace runtime {
namespace {

using api::FieldErrors;
using api::FieldErrorType;
using api::Json;

void deadline_is_immutable(const ValidationContext& review, FieldErrors& errors) {
    if (review.is_create()) return;
    const Json& now = review.job.spec["activeDeadlineSeconds"];
    const Json& before = review.old_job->spec["activeDeadlineSeconds"];
    if (now == before) return;
    errors.push_back({FieldErrorType::invalid,
                      "spec.activeDeadlineSeconds",
                      now,
                      before.is_null() ? "cannot be added later: field is immutable"
                      : now.is_null()  ? "cannot be removed: field is immutable"
                                       : "field is immutable",
                      {}});
}

// Copies by MultiKueue are not checked: it would try for ever to create a copy that is refused. The maximum
// ends them all the same.
void deadline_is_within_maximum(const ValidationContext& review, FieldErrors& errors) {
    if (review.job.is_multikueue_copy) return;
    const auto wanted = review.job.active_deadline_seconds;
    const auto most = api::run_policy_of(review.runtime).max_active_deadline_seconds;
    if (!wanted || !most || *wanted <= *most) return;
    errors.push_back({FieldErrorType::invalid,
                      "spec.activeDeadlineSeconds",
                      *wanted,
                      "must be at most " + std::to_string(*most) + ", the maximum of " +
                          review.job.runtime_ref.kind + " " + review.job.runtime_ref.name,
                      {}});
}

constexpr Check checks[] = {
    {Rule::deadline_immutable, deadline_is_immutable, RuleInput::job, AppliesTo::every_update},
    {Rule::deadline_maximum, deadline_is_within_maximum, RuleInput::runtime, AppliesTo::creations},
};

// The copies by MultiKueue are not deleted after their TTL, so they need no warning. A client whose types
// lack the field removes it without knowing.
void warn_of_passed_ttl(const ValidationContext& review, api::Warnings& warnings) {
    if (review.is_create() || review.is_denied || review.job.meta.deletion || review.job.is_multikueue_copy)
        return;
    const auto own = review.job.ttl_seconds_after_finished;
    const api::Condition* ended = api::terminal_condition(review.job);
    if (own == review.old_job->ttl_seconds_after_finished || !ended) return;
    // The runtime's does not count on the manager of MultiKueue.
    const api::RunPolicy of_runtime =
        api::is_managed_here(review.job) && review.job.run_policy ? *review.job.run_policy : api::RunPolicy();
    const auto ttl = api::cut_ttl(own ? own : of_runtime.ttl_seconds_after_finished, of_runtime);
    const auto age = review.now - ended->last_transition;
    if (!ttl || age < std::chrono::seconds(*ttl)) return;
    const std::string text =
        "spec.ttlSecondsAfterFinished: the TrainJob ended " + std::to_string(age.count()) + "s ago: ";
    warnings.push_back(text + (own ? "it is deleted at once"
                                   : "its runtime deletes it, unless its TTL is longer now than " +
                                         std::to_string(*ttl) + "s"));
}

// Before the job begins, the maximum of its live runtime counts, and then that of its status.
void warn_of_cut_ttl(const ValidationContext& review, api::Warnings& warnings) {
    if (review.is_denied || review.job.is_multikueue_copy || !api::is_managed_here(review.job)) return;
    const auto own = review.job.ttl_seconds_after_finished;
    if (!own || (!review.is_create() && own == review.old_job->ttl_seconds_after_finished)) return;
    const api::RunPolicy policy =
        review.job.run_policy ? *review.job.run_policy : api::run_policy_of(review.runtime);
    if (const auto most = *api::cut_ttl(own, policy); most < *own)
        warnings.push_back("spec.ttlSecondsAfterFinished: the TrainJob is deleted after " +
                           std::to_string(most) + "s, the maximum of its runtime");
}

constexpr Warner warners[] = {
    {Rule::ttl_passed, warn_of_passed_ttl, RuleInput::job, AppliesTo::every_update},
    {Rule::ttl_cut, warn_of_cut_ttl, RuleInput::job, AppliesTo::every_update},
};

}  // namespace

constinit const std::span<const Check> deadline_checks = checks;
constinit const std::span<const Warner> time_warnings = warners;

}  // namespace runtime
