#include "lifecycle/stall.hpp"

#include <algorithm>

#include "duration.hpp"
#include "lifecycle/jobs_status.hpp"
#include "lifecycle/progress_deadline.hpp"
#include "lifecycle/refusal.hpp"
#include "lifecycle/requeue.hpp"
#include "lifecycle/stopping.hpp"
#include "reports.hpp"
#include "retry_state.hpp"
#include "service_watch.hpp"

namespace lifecycle {
namespace {

constexpr std::chrono::seconds start_lasts{30};
// A Job waits for up to six minutes before it makes a Pod that has failed anew, and for Pods that end.
constexpr std::chrono::minutes pods_unexplained{10};
constexpr std::chrono::minutes wait_lasts{5};
// Between two looks at a text.
constexpr std::chrono::minutes shortest_pause{1};
constexpr std::chrono::minutes longest_pause{30};
// Until Warnings that another reconcile is reading are there.
constexpr std::chrono::seconds reading_lasts{5};
constexpr std::chrono::minutes second_warning{5};
// The API server forgets events after an hour.
constexpr std::chrono::minutes warned_again{30};
constexpr std::chrono::hours never{24 * 365 * 100};

struct Cause {
    std::string_view reason = {};
    std::string message = {};       // unless a Warning says more
    std::chrono::seconds lasts{0};  // from its beginning to the report
    // Of a cause that Warnings may explain: the same limit while none does.
    std::optional<std::chrono::seconds> unexplained = {};
    bool is_of_counts = false;  // found in the counts of the JobSet, which may be cached ones
    bool begins = false;        // starts now, even if the same cause was present before
    bool warns = true;          // report_error() sends no events about it
};

struct Finding {
    std::optional<Cause> cause = {};
    bool is_known = true;  // false: keep the stored state
};

Cause missing_jobs(std::chrono::seconds lasts, std::chrono::seconds unexplained) {
    return {.reason = api::reason::jobs_not_created,
            .message = "JobSet has created no Jobs, and no event was found that says why",
            .lasts = lasts,
            .unexplained = unexplained,
            .is_of_counts = true};
}

Cause missing_pods(const api::JobSet& job_set) {
    const bool are_suspended =
        std::any_of(job_set.replicated_jobs.begin(), job_set.replicated_jobs.end(),
                    [&](const auto& each) { return each.name == job_set.lacks_pods && each.suspended > 0; });
    return {.reason = api::reason::pods_not_created,
            .message = "job " + job_set.lacks_pods + ": its " +
                       (are_suspended ? "Jobs are still suspended" : "Pods are not there") +
                       ", and no event was found that says why",
            .lasts = start_lasts,
            .unexplained = pods_unexplained,
            .is_of_counts = true};
}

// Returns the cause if JobSet or its Jobs cannot create the Jobs or Pods that are due.
std::optional<Cause> missing_start(const Observed& observed) {
    const api::JobSet* job_set = own_job_set(observed);
    if (!job_set || job_set->suspend || observed.job->suspend || job_set->meta.deletion) return std::nullopt;
    if (job_set->replicated_jobs.empty()) return missing_jobs(start_lasts, start_lasts);
    if (!job_set->lacks_pods.empty()) return missing_pods(*job_set);
    // The counts are older than what JobSet tries now, if it cannot create the next Jobs.
    if (job_set->waits_for_others) {
        Cause cause = missing_jobs(wait_lasts, never);
        cause.begins = jobs_status(observed) != observed.job->jobs_status;
        return cause;
    }
    return std::nullopt;
}

// The JobSet controller has not suspended its Jobs, or their Pods do not end.
std::optional<Cause> missing_suspension(const Observed& observed) {
    const api::JobSet* job_set = own_job_set(observed);
    if (!job_set || !job_set->suspend || job_set->meta.deletion) return std::nullopt;
    for (const api::JobStatus& each : job_set->replicated_jobs)
        if (each.active > 0)
            return Cause{.reason = api::reason::waiting_for_pods,
                         .message = "The JobSet is suspended, and Pods of its job " + each.name +
                                    " still run: the JobSet controller has not suspended its Jobs",
                         .lasts = wait_lasts,
                         .is_of_counts = true};
    return std::nullopt;
}

Finding of_error(const Observed& observed, const std::string& object, const api::Error& error,
                 api::Time now) {
    if (!own_job_set(observed)) return {};
    const Obstacle obstacle = obstacle_of(error);
    if (obstacle == Obstacle::passing || !has_lasted(observed.retry_state, now)) return {.is_known = false};
    return {.cause = Cause{.reason = obstacle == Obstacle::server ? api::reason::api_server_error
                                                                  : api::reason::permission_denied,
                           .message = object + ": " + api::describe(error),
                           .warns = false}};
}

Finding after(const Run& run, const Observed& observed, const Outcome& outcome, api::Time now) {
    if (const auto* failed = std::get_if<ReadFailed>(&outcome.result))
        return of_error(observed, failed->object, failed->error, now);
    if (const auto* failed = std::get_if<WriteFailed>(&outcome.result)) {
        const bool refused = failed->write == Write::apply && is_rejection(failed->error);
        return refused ? Finding() : of_error(observed, failed->object, failed->error, now);
    }
    if (const auto* waiting = std::get_if<Waiting>(&outcome.result))
        return {.cause = Cause{.reason = api::reason::waiting_for_pods,
                               .message = describe(*waiting),
                               .lasts = wait_lasts}};
    if (const auto* waiting = std::get_if<WaitingForDeletion>(&outcome.result))
        return {.cause = Cause{.reason = api::reason::waiting_for_deletion,
                               .message = describe(*waiting),
                               .lasts = wait_lasts}};
    if (const auto* replaced = std::get_if<JobsReplaced>(&outcome.result); replaced && !replaced->any_removed)
        return {.cause = Cause{.reason = api::reason::waiting_for_deletion,
                               .message = describe(*replaced),
                               .lasts = wait_lasts}};
    if (!std::holds_alternative<Done>(outcome.result) || !run.build) return {};
    if (run.job_set == JobSetAction::wait_until_gone)
        return {.cause = Cause{.reason = api::reason::waiting_for_deletion,
                               .message = std::string(job_set_being_deleted),
                               .lasts = wait_lasts}};
    if (run.job_set == JobSetAction::wait_until_stopped)
        return {.cause = Cause{.reason = api::reason::waiting_for_pods,
                               .message = describe(*observed.stopping),
                               .lasts = wait_lasts}};
    // A new JobSet may cause no watch event, so its timer starts with this write.
    if (run.job_set == JobSetAction::create && outcome.job_set_written && !observed.job->suspend) {
        Cause cause = missing_jobs(start_lasts, start_lasts);
        cause.begins = true;
        return {.cause = std::move(cause)};
    }
    if (run.job_set == JobSetAction::leave)
        return {.cause = observed.job->suspend ? missing_suspension(observed) : missing_start(observed)};
    return {};
}

// A cause that a reconcile has found, and what earlier ones have said of it.
struct Found {
    Cause cause;
    const api::Condition* said = nullptr;  // the stored condition, if it has this reason
    Stall stall = {};
};

Found with_history(const Observed& observed, Cause cause, api::Time now) {
    Found found = {.cause = std::move(cause)};
    found.stall = {.reason = found.cause.reason, .since = now};
    if (found.cause.begins) return found;
    const api::Condition* stored = api::find_condition(observed.job->conditions, api::condition::stalled);
    if (stored && stored->reason == found.cause.reason) found.said = stored;
    const auto& before = observed.retry_state.stall;
    if (before && before->reason == found.cause.reason) found.stall = *before;
    return found;
}

std::optional<Found> find(const Observed& observed, const Decision& decision, const Outcome& outcome,
                          api::Time now) {
    const auto* run = std::get_if<Run>(&decision);
    auto cause = run ? after(*run, observed, outcome, now).cause : std::nullopt;
    if (!cause) return std::nullopt;
    return with_history(observed, std::move(*cause), now);
}

// Returns when the text is to be determined: once the cause has lasted, when it is said without a Warning,
// and then less and less often. So neither a list that differs each time nor a job that stalls for days
// writes a status all the time.
api::Time next_look(const Cause& cause, const Stall& stall, bool is_said) {
    if (!stall.looked) return is_said ? stall.since : stall.since + cause.lasts;
    const auto pause =
        std::clamp<std::chrono::seconds>((*stall.looked - stall.since) / 2, shortest_pause, longest_pause);
    const api::Time again = *stall.looked + pause;
    return is_said ? again : std::min(again, stall.since + cause.unexplained.value_or(cause.lasts));
}

bool looks(const Found& found, api::Time now) {
    return now >= next_look(found.cause, found.stall, found.said != nullptr);
}

bool lacks_warnings(const Found& found, const Outcome& outcome, api::Time now) {
    return found.cause.unexplained && !outcome.explanation && looks(found, now);
}

bool is_explained(const Outcome& outcome) { return outcome.explanation && !outcome.explanation->empty(); }

// Returns whether a cause that is not said yet has lasted.
bool is_due(const Found& found, const Outcome& outcome, api::Time now) {
    const auto unexplained = found.cause.unexplained.value_or(found.cause.lasts);
    return now - found.stall.since >= (is_explained(outcome) ? found.cause.lasts : unexplained);
}

// Between the texts of two causes.
constexpr std::string_view besides = "; besides: ";

// A Warning expires while its cause lasts, so its text stays.
std::string text_of(const Found& found, const Outcome& outcome, bool takes) {
    if (takes && is_explained(outcome)) return *outcome.explanation;
    const bool is_new = takes && !found.cause.unexplained;
    if (!found.said || is_new) return found.cause.message;
    return found.said->message.substr(0, found.said->message.rfind(besides));
}

void requeue_at(Conclusion& conclusion, api::Time at, api::Time now) {
    conclusion.requeue_after = sooner(conclusion.requeue_after, time_until(at, now));
}

void take_back(Conclusion& conclusion) {
    std::erase_if(conclusion.conditions,
                  [](const auto& condition) { return condition.type == api::condition::stalled; });
}

void state(Conclusion& conclusion, const Observed& observed, std::string_view reason, std::string text,
           api::Time now) {
    set_condition(conclusion.conditions,
                  {.type = std::string(api::condition::stalled),
                   .status = "True",
                   .reason = std::string(reason),
                   .message = std::move(text),
                   .observed_generation = observed.job->meta.generation},
                  now);
    conclusion.conditions = in_order(std::move(conclusion.conditions));
}

// Returns when the next event is due; no value: now.
std::optional<api::Time> next_warning(const Stall& stall) {
    if (!stall.warned) return std::nullopt;
    const api::Time second = stall.since + second_warning;
    return *stall.warned < second ? second : *stall.warned + warned_again;
}

// Sends the event that is due, and asks for a reconcile when the next one is.
void warn(Conclusion& conclusion, Stall& stall, const Cause& cause, std::string_view text, api::Time now) {
    if (const auto next = next_warning(stall); !next || now >= *next) {
        stall.warned = now;
        conclusion.events.push_back(warning_event(cause.reason, text));
        conclusion.events.back().needs_status = true;
    }
    requeue_at(conclusion, *next_warning(stall), now);
}

}  // namespace

std::string_view name_of(StallReason reason) {
    static constexpr std::string_view names[] = {
        api::reason::api_server_error, api::reason::permission_denied,
        api::reason::jobs_not_created, api::reason::pods_not_created,
        api::reason::waiting_for_pods, api::reason::waiting_for_deletion,
        api::reason::service_taken,    api::reason::progress_deadline_exceeded};
    static_assert(std::size(names) == stall_reason_count);
    return names[static_cast<std::size_t>(reason)];
}

std::optional<StallReason> stall_reason_of(const api::TrainJob& job) {
    const api::Condition* stalled = api::find_condition(job.conditions, api::condition::stalled);
    if (!stalled || !stalled->is_true()) return std::nullopt;
    for (std::size_t i = 0; i < stall_reason_count; ++i)
        if (const auto reason = static_cast<StallReason>(i); name_of(reason) == stalled->reason)
            return reason;
    return std::nullopt;
}

bool wants_warnings(const Observed& observed, const Decision& decision, const Outcome& outcome,
                    api::Time now) {
    const auto found = find(observed, decision, outcome, now);
    return found && lacks_warnings(*found, outcome, now);
}

bool wants_live_view(const Observed& observed, const Decision& decision, const Outcome& outcome,
                     api::Time now) {
    if (observed.is_live) return false;
    const auto found = find(observed, decision, outcome, now);
    return found && found->cause.is_of_counts && !found->said && !lacks_warnings(*found, outcome, now) &&
           is_due(*found, outcome, now);
}

namespace {

// Reports a cause that this reconcile has found, with what stands in the way besides. Returns whether
// `Stalled` has it.
bool report_cause(Conclusion& conclusion, const Observed& observed, Found& found, const Outcome& outcome,
                  const std::optional<std::string>& obstacle, api::Time now) {
    const Cause& cause = found.cause;
    Stall& stall = found.stall;
    if (lacks_warnings(found, outcome, now)) {
        requeue_at(conclusion, now + reading_lasts, now);
        return found.said;
    }
    const bool takes = looks(found, now);
    if (takes) stall.looked = now;
    const bool is_certain = !cause.is_of_counts || observed.is_live;
    if (!found.said && !(is_certain && is_due(found, outcome, now))) {
        requeue_at(conclusion, next_look(cause, stall, false), now);
        return false;
    }
    std::string text = text_of(found, outcome, takes);
    if (obstacle) text.append(besides).append(*obstacle);
    // The process that stored the condition has sent its event.
    if (found.said && !stall.warned) stall.warned = now;
    if (cause.warns) warn(conclusion, stall, cause, text, now);
    if (cause.unexplained) requeue_at(conclusion, next_look(cause, stall, true), now);
    state(conclusion, observed, cause.reason, std::move(text), now);
    return true;
}

// Reports a Service that stands in the way of the JobSet's.
void report_taken_service(Conclusion& conclusion, const Observed& observed, std::string text, api::Time now) {
    Stall& stall = *conclusion.retry_state.service->stall;
    const api::Condition* stored = api::find_condition(observed.job->conditions, api::condition::stalled);
    // The process that stored the condition has sent its event.
    if (stored && stored->reason == stall.reason && !stall.warned) stall.warned = now;
    warn(conclusion, stall, {.reason = stall.reason}, text, now);
    state(conclusion, observed, stall.reason, std::move(text), now);
}

// Reports missing progress, with an event only when the condition is set. Returns whether `Stalled` has it.
bool report_no_progress(Conclusion& conclusion, const Observed& observed, api::Time now) {
    auto text = progress_stall(observed, now);
    if (!text) return false;
    if (!is_stalled_by_progress(*observed.job)) {
        conclusion.events.push_back(warning_event(api::reason::progress_deadline_exceeded, *text));
        conclusion.events.back().needs_status = true;
    }
    state(conclusion, observed, api::reason::progress_deadline_exceeded, std::move(*text), now);
    return true;
}

void report_resumed_progress(Conclusion& conclusion, const Observed& observed) {
    if (!has_resumed_progress(observed)) return;
    const auto& percentage = observed.job->trainer_status.percentage;
    conclusion.events.push_back(normal_event(
        event_reason::progress_resumed,
        "progress is reported again" + (percentage ? ": " + std::to_string(*percentage) + " %" : "")));
    conclusion.events.back().needs_status = true;
}

}  // namespace

// Besides a taken Service, a reconcile finds at most one cause. Both take precedence over missing progress.
void report_stall(Conclusion& conclusion, const Observed& observed, const Decision& decision,
                  const Outcome& outcome, api::Time now) {
    const auto* run = std::get_if<Run>(&decision);
    // After StoreTransition this reconcile decides again.
    const bool stores = std::holds_alternative<StoreTransition>(decision);
    if (!run && !stores) return;
    const Finding finding = run ? after(*run, observed, outcome, now) : Finding{.is_known = false};
    if (!finding.is_known) {
        conclusion.retry_state.stall = observed.retry_state.stall;
        conclusion.retry_state.service = observed.retry_state.service;
        return;
    }
    auto obstacle = follow_service(conclusion, observed, decision, outcome, now);
    if (finding.cause) {
        Found found = with_history(observed, *finding.cause, now);
        const bool is_said = report_cause(conclusion, observed, found, outcome, obstacle, now);
        conclusion.retry_state.stall = found.stall;
        if (is_said) return;
    }
    if (obstacle) return report_taken_service(conclusion, observed, std::move(*obstacle), now);
    if (report_no_progress(conclusion, observed, now)) return;
    report_resumed_progress(conclusion, observed);
    take_back(conclusion);
}

}  // namespace lifecycle
