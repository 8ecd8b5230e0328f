#include "reports.hpp"

#include <algorithm>

#include "api/names.hpp"
#include "api/progress.hpp"
#include "api/text.hpp"
#include "lifecycle/deadline.hpp"
#include "lifecycle/progress_deadline.hpp"
#include "lifecycle/requeue.hpp"
#include "lifecycle/ttl.hpp"

namespace lifecycle {
namespace {

// Pods have half a minute to end by default.
constexpr std::chrono::seconds usual{60};
// The API server forgets events after an hour.
constexpr std::chrono::minutes again_after{30};

// The garbage collector's finalizer: it waits for the deletion of dependents.
constexpr std::string_view foreground = "foregroundDeletion";
// The share of the finalizers in the note, which also needs room for the command that helps.
constexpr std::size_t max_finalizer_bytes = 300;

std::string note(const api::JobSet& job_set) {
    const api::ObjectKey key = job_set.meta.key();
    const auto& finalizers = job_set.meta.finalizers;
    std::string names;
    for (const std::string& finalizer : finalizers) names += (names.empty() ? "" : ", ") + finalizer;
    std::string text = "The deletion waits for JobSet " + to_string(key);
    if (!names.empty()) text += ", which has the finalizers " + api::cut_bytes(names, max_finalizer_bytes);
    if (std::find(finalizers.begin(), finalizers.end(), foreground) == finalizers.end()) return text;
    return text + ". " + std::string(foreground) +
           " waits for what the JobSet owns: Jobs, Pods that still end, volume claims. Finalizers of those: "
           "kubectl get jobs,pods,pvc -n " +
           key.ns + " -l " + std::string(api::job_set_name_label) + "=" + key.name +
           " -o custom-columns=KIND:.kind,NAME:.metadata.name,DELETED:.metadata.deletionTimestamp,"
           "FINALIZERS:.metadata.finalizers";
}

// Returns the time limit that would end the job, or delete it; empty if none has passed.
std::string_view passed_limit(const Observed& observed, api::Time now) {
    constexpr std::chrono::seconds none{0};
    if (time_to_live(*observed.job, observed.ttl, now) == none) return "The time to live";
    if (!api::is_managed_here(*observed.job) || api::terminal_condition(*observed.job)) return {};
    if (time_left(observed, now) == none) return "The active deadline";
    return has_passed_progress_deadline(observed, now) ? "The progress deadline" : std::string_view();
}

}  // namespace

std::string describe(const Waiting& waiting) {
    return "The JobSet takes a change once none of its pods is active: " + waiting.why;
}

std::string describe(const WaitingForDeletion& waiting) {
    std::string text;
    for (const std::string& object : waiting.objects) text += (text.empty() ? "" : ", ") + object;
    text += waiting.objects.size() > 1 ? " are being deleted; the job goes on once they are gone"
                                       : " is being deleted; the job goes on once it is gone";
    return text + (waiting.besides.empty() ? "" : ". Besides: " + waiting.besides);
}

std::string describe(const JobsReplaced& replaced) {
    return "The job goes on once its Jobs have been created again; it waits for " + replaced.waits_for;
}

void report_blocked_deletion(Conclusion& conclusion, const Observed& observed, api::Time now) {
    const api::JobSet* job_set = own_job_set(observed);
    const api::Condition* end = api::terminal_condition(*observed.job);
    const auto asked = observed.job->meta.deletion;
    if (!job_set || !job_set->meta.deletion || (!asked && !end)) return;
    const auto& reported = observed.retry_state.deletion_reported;
    const api::Time since = std::max(*job_set->meta.deletion, asked ? *asked : end->last_transition);
    const api::Time due = reported ? *reported + again_after : since + usual;
    conclusion.retry_state.deletion_reported = reported;
    if (now < due) {
        conclusion.requeue_after = sooner(conclusion.requeue_after, due - now);
        return;
    }
    conclusion.retry_state.deletion_reported = now;
    conclusion.requeue_after = sooner(conclusion.requeue_after, again_after);
    conclusion.events.push_back(warning_event(event_reason::deletion_blocked, note(*job_set)));
}

void report_invalid_deadline(Conclusion& conclusion, const Observed& observed) {
    if (observed.progress_watch != ProgressWatch::deadlines || api::terminal_condition(*observed.job)) return;
    const auto errors = api::progress_deadline_errors(observed.job->progress_annotations);
    conclusion.retry_state.invalid_reported = !errors.empty();
    if (errors.empty() || observed.retry_state.invalid_reported) return;
    conclusion.events.push_back(
        warning_event(event_reason::progress_deadline_invalid, api::describe({errors.front()})));
}

void report_uncertain_clock(Conclusion& conclusion, const Observed& observed, api::Time now) {
    const std::string_view limit =
        observed.clock_is_uncertain ? passed_limit(observed, now) : std::string_view();
    conclusion.retry_state.clock_reported = !limit.empty();
    if (limit.empty() || observed.retry_state.clock_reported) return;
    conclusion.events.push_back(warning_event(
        event_reason::clock_uncertain,
        std::string(limit) +
            " has passed by the last answers of the API server, but they have no Date, or contradict each "
            "other about the time. Nothing is ended before they agree: check the clocks of the API servers "
            "and of proxies before them"));
}

void report_kept_job_set(Conclusion& conclusion, const Observed& observed, const Decision& decision,
                         const Outcome& outcome) {
    conclusion.retry_state.kept_reported = observed.retry_state.kept_reported;
    const auto* run = std::get_if<Run>(&decision);
    if (!run || !std::holds_alternative<Done>(outcome.result)) return;
    conclusion.retry_state.kept_reported = outcome.kept.has_value();
    if (!outcome.kept || observed.retry_state.kept_reported) return;
    const std::string differs = run->verifies  ? "The JobSet was created from what has been corrected since: "
                                : run->resizes ? "The JobSet runs with another number of nodes than "
                                                 "spec.trainer.numNodes: "
                                               : "The JobSet goes on as it was built: ";
    conclusion.events.push_back(warning_event(event_reason::job_set_kept, differs + outcome.kept->why));
}

}  // namespace lifecycle
