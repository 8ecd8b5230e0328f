#include "lifecycle/stall.hpp"

#include <algorithm>

#include "duration.hpp"
#include "lifecycle/jobs_status.hpp"
#include "lifecycle/progress_deadline.hpp"
#include "lifecycle/refusal.hpp"
#include "lifecycle/requeue.hpp"
#include "reports.hpp"
#include "retry_state.hpp"

namespace lifecycle {
namespace {

constexpr std::chrono::seconds start_lasts{30};
// A Job waits for up to six minutes before it makes a Pod that has failed anew, and for Pods that end.
constexpr std::chrono::minutes pods_without_event{10};
constexpr std::chrono::minutes wait_lasts{5};
constexpr std::chrono::minutes text_lasts{1};
// The longest pause of the Job controller between two attempts to create a Pod.
constexpr std::chrono::minutes pause_of_jobs{6};
constexpr std::chrono::minutes longest_pause{30};
// Events have whole seconds, of another clock.
constexpr std::chrono::seconds clock_tolerance{2};
constexpr std::chrono::minutes second_warning{5};
// The API server forgets events after an hour.
constexpr std::chrono::minutes warned_again{30};

struct Cause {
    std::string_view reason = {};
    std::chrono::seconds lasts{0};  // from its beginning to the report
    std::string message = {};
    bool is_of_start = false;                    // the message is the newest event's text, if there is one
    std::chrono::seconds without_event = lasts;  // the same limit while no event gives the reason
    bool warns = true;                           // report_error() sends no events about it
    bool begins = false;                         // starts now, even if the same cause was present before
    bool is_of_counts = false;  // found in the counts of the JobSet, which may be cached ones
};

// The limit without an event of a cause that only an event shows.
constexpr std::chrono::hours never{24 * 365 * 100};

struct Verdict {
    std::optional<Cause> cause = {};
    bool is_known = true;  // false: keep the stored state
};

// Returns the cause if JobSet or its Jobs cannot create the Jobs or Pods that are due.
std::optional<Cause> missing_start(const Observed& observed) {
    const api::JobSet* job_set = own_job_set(observed);
    if (!job_set || job_set->suspend || observed.job->suspend || job_set->meta.deletion) return std::nullopt;
    if (job_set->replicated_jobs.empty())
        return Cause{.reason = api::reason::jobs_not_created, .lasts = start_lasts, .is_of_start = true};
    if (!job_set->lacks_pods.empty())
        return Cause{.reason = api::reason::pods_not_created,
                     .lasts = start_lasts,
                     .is_of_start = true,
                     .without_event = pods_without_event};
    // The counts are older than what JobSet tries now, if it cannot create the next Jobs.
    if (job_set->waits_for_others)
        return Cause{.reason = api::reason::jobs_not_created,
                     .lasts = wait_lasts,
                     .is_of_start = true,
                     .without_event = never,
                     .begins = jobs_status(observed) != observed.job->jobs_status};
    return std::nullopt;
}

// The JobSet controller has not suspended its Jobs, or their Pods do not end.
std::optional<Cause> missing_suspension(const Observed& observed) {
    const api::JobSet* job_set = own_job_set(observed);
    if (!job_set || !job_set->suspend || job_set->meta.deletion) return std::nullopt;
    for (const api::JobStatus& each : job_set->replicated_jobs)
        if (each.active > 0)
            return Cause{.reason = api::reason::waiting_for_pods,
                         .lasts = wait_lasts,
                         .message = "The JobSet is suspended, and Pods of its job " + each.name +
                                    " still run: the JobSet controller has not suspended its Jobs",
                         .is_of_counts = true};
    return std::nullopt;
}

Verdict of_error(const Observed& observed, const std::string& object, const api::Error& error,
                 api::Time now) {
    if (!own_job_set(observed)) return {};
    const Obstacle obstacle = obstacle_of(error);
    if (obstacle == Obstacle::passing || !has_lasted(observed.retry_state, now)) return {.is_known = false};
    return {.cause = Cause{.reason = obstacle == Obstacle::server ? api::reason::api_server_error
                                                                  : api::reason::permission_denied,
                           .message = object + ": " + api::describe(error),
                           .warns = false}};
}

Verdict after(const Run& run, const Observed& observed, const Outcome& outcome, api::Time now) {
    if (const auto* failed = std::get_if<ReadFailed>(&outcome.result))
        return of_error(observed, failed->object, failed->error, now);
    if (const auto* failed = std::get_if<WriteFailed>(&outcome.result)) {
        const bool refused = failed->write == Write::apply && is_rejection(failed->error);
        return refused ? Verdict() : of_error(observed, failed->object, failed->error, now);
    }
    if (const auto* waiting = std::get_if<Waiting>(&outcome.result))
        return {.cause = Cause{.reason = api::reason::waiting_for_pods,
                               .lasts = wait_lasts,
                               .message = describe(*waiting)}};
    if (const auto* waiting = std::get_if<WaitingForClaim>(&outcome.result))
        return {.cause = Cause{.reason = api::reason::waiting_for_deletion,
                               .lasts = wait_lasts,
                               .message = describe(*waiting)}};
    if (const auto* replaced = std::get_if<JobsReplaced>(&outcome.result); replaced && !replaced->any_removed)
        return {.cause = Cause{.reason = api::reason::waiting_for_deletion,
                               .lasts = wait_lasts,
                               .message = describe(*replaced)}};
    if (!std::holds_alternative<Done>(outcome.result) || !run.build) return {};
    if (run.job_set == JobSetAction::wait_until_gone)
        return {.cause = Cause{.reason = api::reason::waiting_for_deletion,
                               .lasts = wait_lasts,
                               .message = std::string(job_set_being_deleted)}};
    // A new JobSet may cause no watch event, so its timer starts with this write.
    if (run.job_set == JobSetAction::create && outcome.job_set_written && !observed.job->suspend)
        return {.cause = Cause{.reason = api::reason::jobs_not_created,
                               .lasts = start_lasts,
                               .is_of_start = true,
                               .begins = true}};
    if (run.job_set == JobSetAction::leave)
        return {.cause = observed.job->suspend ? missing_suspension(observed) : missing_start(observed)};
    return {};
}

const api::Condition* stated(const Observed& observed, const Cause& cause) {
    if (cause.begins) return nullptr;
    const api::Condition* stored = api::find_condition(observed.job->conditions, api::condition::stalled);
    return stored && stored->reason == cause.reason ? stored : nullptr;
}

Stall stall_of(const Observed& observed, const Cause& cause, api::Time now) {
    const auto& before = observed.retry_state.stall;
    if (before && before->reason == cause.reason && !cause.begins) return *before;
    return {.reason = cause.reason, .since = now};
}

bool has_lasted(const Stall& stall, const Cause& cause, api::Time now) {
    return now - stall.since >= cause.lasts;
}

// Returns how long a text stands before the events are read again. A list of events costs the API server a
// walk over those of the namespace, so what lasts for hours is looked at less often.
std::chrono::seconds between_looks(const Stall& stall, const Cause& cause) {
    const auto lasted = stall.looked.value_or(stall.since) - stall.since;
    if (cause.without_event == never)
        return std::clamp<std::chrono::seconds>(lasted / 2, wait_lasts, longest_pause);
    return std::clamp<std::chrono::seconds>(lasted / 10, text_lasts, longest_pause);
}

// Returns whether this reconcile determines the text on a live view: for events once a minute, and for every
// cause before its first report, since caches may be old.
bool looks(const Observed& observed, const Stall& stall, const Cause& cause, api::Time now) {
    const bool is_stated = stated(observed, cause);
    if (!is_stated && !has_lasted(stall, cause, now)) return false;
    const bool reports_first = !is_stated && now - stall.since >= cause.without_event;
    return reports_first || !stall.looked || now >= *stall.looked + between_looks(stall, cause);
}

// That events cannot be read says nothing of Jobs that only events tell of.
bool has_event(const Outcome& outcome, const Cause& cause) {
    if (!outcome.start_events || outcome.start_events->empty()) return false;
    return cause.without_event != never || !outcome.start_events->starts_with(events_unread);
}

std::string text_of(const Cause& cause, const Observed& observed, const std::string& events) {
    if (!cause.is_of_start) return cause.message;
    if (cause.reason == api::reason::jobs_not_created)
        return events.empty() ? "the JobSet controller says nothing" : events;
    const api::JobSet& job_set = *own_job_set(observed);
    const bool are_suspended =
        std::any_of(job_set.replicated_jobs.begin(), job_set.replicated_jobs.end(),
                    [&](const auto& each) { return each.name == job_set.lacks_pods && each.suspended > 0; });
    const char* const unexplained = are_suspended ? "its Jobs are still suspended, and no event says why"
                                                  : "no event says why its Pods are not there";
    return events.empty() ? "job " + job_set.lacks_pods + ": " + unexplained : events;
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
    conclusion.requeue_after = sooner(conclusion.requeue_after, time_until(*next_warning(stall), now));
}

}  // namespace

std::string_view name_of(StallReason reason) {
    static constexpr std::string_view names[] = {
        api::reason::api_server_error,          api::reason::permission_denied,
        api::reason::jobs_not_created,          api::reason::pods_not_created,
        api::reason::waiting_for_pods,          api::reason::waiting_for_deletion,
        api::reason::progress_deadline_exceeded};
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

api::Time events_since(const Observed& observed, api::Time now) {
    const api::JobSet* job_set = own_job_set(observed);
    const api::Time start = start_of_run(observed);
    const auto& stall = observed.retry_state.stall;
    // A JobSet without Jobs has met nothing else since its start.
    if (!job_set || job_set->replicated_jobs.empty()) return start;
    // An event of an earlier lack of Pods says nothing of this one.
    if (!job_set->lacks_pods.empty()) {
        const bool is_known = stall && stall->reason == api::reason::pods_not_created;
        return std::max(start, (is_known ? stall->since : now) - pause_of_jobs);
    }
    // If JobSet had created the Jobs later, the counts would have changed.
    const bool is_known = stall && stall->reason == api::reason::jobs_not_created;
    return is_known ? std::max(start, stall->since + clock_tolerance) : now;
}

namespace {

// Returns the cause that this reconcile has found with the JobSet.
std::optional<Cause> found_cause(const Observed& observed, const Decision& decision, const Outcome& outcome,
                                 api::Time now) {
    const auto* run = std::get_if<Run>(&decision);
    if (!run || !own_job_set(observed)) return std::nullopt;
    return after(*run, observed, outcome, now).cause;
}

}  // namespace

bool wants_events(const Observed& observed, const Decision& decision, const Outcome& outcome, api::Time now) {
    const auto cause = found_cause(observed, decision, outcome, now);
    return cause && cause->is_of_start && looks(observed, stall_of(observed, *cause, now), *cause, now);
}

bool wants_live_view(const Observed& observed, const Decision& decision, const Outcome& outcome,
                     api::Time now) {
    const auto cause = found_cause(observed, decision, outcome, now);
    return cause && cause->is_of_counts && !stated(observed, *cause) &&
           has_lasted(stall_of(observed, *cause, now), *cause, now);
}

namespace {

// Reports a cause that this reconcile has found. Returns whether `Stalled` has it.
bool report_cause(Conclusion& conclusion, const Observed& observed, const Cause& cause,
                  const Outcome& outcome, api::Time now) {
    const api::Condition* said = stated(observed, cause);
    Stall stall = stall_of(observed, cause, now);
    const bool takes = looks(observed, stall, cause, now) && (!cause.is_of_start || outcome.start_events);
    if (takes) stall.looked = now;
    if (!said && now - stall.since < (has_event(outcome, cause) ? cause.lasts : cause.without_event)) {
        const api::Time reported =
            stall.since + (has_lasted(stall, cause, now) ? cause.without_event : cause.lasts);
        const auto pause = between_looks(stall, cause);
        const api::Time looked = stall.looked                    ? *stall.looked + pause
                                 : has_lasted(stall, cause, now) ? std::min(reported, now + pause)
                                                                 : reported;
        conclusion.requeue_after =
            sooner(conclusion.requeue_after, time_until(std::min(reported, looked), now));
        conclusion.retry_state.stall = stall;
        return false;
    }
    // The process that stored the condition has sent its event.
    if (said && !stall.warned) stall.warned = now;
    // An event expires while its cause lasts. "Events cannot be read" replaces no event's text.
    const auto is_unread = [](const std::string& text) { return text.find(events_unread) != text.npos; };
    const bool was_unread = said && is_unread(said->message);
    const bool says_more = has_event(outcome, cause) && (!said || !is_unread(*outcome.start_events));
    const bool adds = takes && (!cause.is_of_start || says_more || was_unread);
    std::string text =
        said && !adds ? said->message : text_of(cause, observed, outcome.start_events.value_or(""));
    if (cause.warns) warn(conclusion, stall, cause, text, now);
    if (cause.is_of_start) {
        const auto pause = between_looks(stall, cause);
        const bool is_due_later = stall.looked && *stall.looked + pause > now;
        conclusion.requeue_after =
            sooner(conclusion.requeue_after, is_due_later ? time_until(*stall.looked + pause, now) : pause);
    }
    state(conclusion, observed, cause.reason, std::move(text), now);
    conclusion.retry_state.stall = stall;
    return true;
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

// A reconcile finds at most one cause. It takes precedence over missing progress.
void report_stall(Conclusion& conclusion, const Observed& observed, const Decision& decision,
                  const Outcome& outcome, api::Time now) {
    const auto* run = std::get_if<Run>(&decision);
    // After StoreTransition this reconcile decides again.
    const bool stores = std::holds_alternative<StoreTransition>(decision);
    if (!run && !stores) return;
    const Verdict verdict = run ? after(*run, observed, outcome, now) : Verdict{.is_known = false};
    if (!verdict.is_known) {
        conclusion.retry_state.stall = observed.retry_state.stall;
        return;
    }
    if (verdict.cause && report_cause(conclusion, observed, *verdict.cause, outcome, now)) return;
    if (report_no_progress(conclusion, observed, now)) return;
    report_resumed_progress(conclusion, observed);
    take_back(conclusion);
}

}  // namespace lifecycle
