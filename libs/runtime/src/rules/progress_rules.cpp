// The annotations of the progress deadline and of the start deadline.
#include "api/failure_policy.hpp"
#include "api/progress.hpp"
#include "rules/validation_context.hpp"

namespace runtime {
namespace {

using api::FieldErrors;

bool has_changed(const ValidationContext& review) {
    const api::ProgressAnnotations before =
        review.is_create() ? api::ProgressAnnotations() : review.old_job->progress_annotations;
    return review.job.progress_annotations != before;
}

// Annotations that are stored with errors count as absent, and may stay. Copies by MultiKueue are not
// checked: it would try for ever to create a copy that is refused.
void progress_deadline_is_valid(const ValidationContext& review, FieldErrors& errors) {
    if (!has_changed(review) || review.job.is_multikueue_copy) return;
    errors.append(api::progress_deadline_errors(review.job.progress_annotations));
}

constexpr Check checks[] = {
    {Rule::progress_deadline, progress_deadline_is_valid, RuleInput::job, AppliesTo::every_update},
};

void warn_of_unwatched_progress(const ValidationContext& review, api::Warnings& warnings) {
    if (!has_changed(review) || review.is_denied || review.gates.has(Gate::progress_deadline)) return;
    const auto warn = [&](std::string_view annotation) {
        warnings.push_back(std::string(annotation) + " has no effect: it " +
                           needs_text(Gate::progress_deadline));
    };
    if (review.job.progress_annotations.seconds) warn(api::progress_seconds_annotation);
    if (review.job.progress_annotations.start_seconds) warn(api::start_seconds_annotation);
}

void warn_of_restart_without_policy(const ValidationContext& review, api::Warnings& warnings) {
    if (!has_changed(review) || review.is_denied || !review.gates.has(Gate::progress_deadline)) return;
    const auto limits = api::parse_progress_deadlines(review.job.progress_annotations);
    if (!limits || limits->action != api::ProgressAction::restart ||
        api::failure_policy(review.runtime, review.job.spec))
        return;
    warnings.push_back(std::string(api::progress_action_annotation) +
                       ": the TrainJob has no failure policy: Restart ends it as Fail does");
}

constexpr Warner warners[] = {
    {Rule::progress_unwatched, warn_of_unwatched_progress, RuleInput::job, AppliesTo::every_update},
    {Rule::restart_without_policy, warn_of_restart_without_policy, RuleInput::runtime,
     AppliesTo::every_update},
};

}  // namespace

constinit const std::span<const Check> progress_checks = checks;
constinit const std::span<const Warner> progress_warnings = warners;

}  // namespace runtime
