#include "lifecycle/measurements.hpp"

#include <algorithm>

#include "lifecycle/deadline.hpp"
#include "lifecycle/progress_deadline.hpp"
#include "lifecycle/ttl.hpp"

namespace lifecycle {
namespace {

std::chrono::seconds since(api::Time then, api::Time now) {
    return std::max(now - then, std::chrono::seconds(0));
}

End end_of(const Finish& finish) {
    if (finish.from_job_set)
        return finish.condition.type == api::condition::complete ? End::complete : End::failed;
    if (finish.condition.reason == api::reason::deadline_exceeded) return End::deadline;
    // Of a hang, the reason may be that of the judgement.
    return finish.condition.reason == api::reason::runtime_not_supported ? End::unsupported_runtime
                                                                         : End::progress_deadline;
}

// Another writer was faster, or another object has the name by now: nothing to repair.
bool is_failure(const api::Error& error) {
    return error.code != api::Errc::not_found && error.code != api::Errc::conflict;
}

bool failed_to_delete(const Decision& decision, const Outcome& outcome) {
    if (!std::holds_alternative<CleanUp>(decision) && !std::holds_alternative<Expire>(decision)) return false;
    const auto* failed = std::get_if<WriteFailed>(&outcome.result);
    return failed && is_failure(failed->error);
}

std::optional<RequeueReason> requeue_reason(const Observed& observed, const Decision& decision,
                                            const Conclusion& conclusion) {
    if (!conclusion.requeue_after) return std::nullopt;
    if (conclusion.retry_state.failures > 0) return RequeueReason::failure;
    const api::JobSet* job_set = own_job_set(observed);
    if (observed.job->meta.deletion && job_set && job_set->meta.deletion) return RequeueReason::clean_up;
    if (std::holds_alternative<Finish>(decision)) return RequeueReason::clean_up;
    if (std::holds_alternative<Ignore>(decision)) return RequeueReason::ttl;
    if (conclusion.requeues_for_progress) return RequeueReason::progress;
    const bool looks = conclusion.retry_state.stall || conclusion.requeues_for_service;
    if (looks && !active_deadline(observed)) return RequeueReason::stall;
    const auto* clean_up = std::get_if<CleanUp>(&decision);
    if (!clean_up) return RequeueReason::deadline;
    return clean_up->job_set == EndOfJobSet::leave ? RequeueReason::ttl : RequeueReason::clean_up;
}

// Each counted one is one of all. Numbers that were forged may be too large before.
api::Restarts more(const api::Restarts& now, const api::Restarts& before) {
    const std::int64_t all = std::max<std::int64_t>(0, now.all - before.all);
    return {.all = all, .counted = std::clamp<std::int64_t>(now.counted - before.counted, 0, all)};
}

RestartCause cause_of_restart(const Decision& decision, const Outcome& outcome) {
    if (!std::holds_alternative<Restart>(decision) || !outcome.failure) return RestartCause::job_set;
    const api::Failure& failure = *outcome.failure;
    if (!api::is_of_pod(failure))
        return failure.reason == api::no_node_left ? RestartCause::no_node : RestartCause::hang;
    return failure.rule == api::infrastructure_rule ? RestartCause::infrastructure : RestartCause::failure;
}

// What its failure or its hang leads to, or how it has completed.
void measure_attempt(const Observed& observed, const Decision& decision, api::Time now, Measurements& made) {
    const api::JobSet* job_set = own_job_set(observed);
    if (!job_set || !job_set->is_attempt) return;
    if (std::holds_alternative<Restart>(decision))
        made.attempt_end = AttemptEnd::restarted;
    else if (const auto* finish = std::get_if<Finish>(&decision);
             finish && (finish->from_job_set || finish->judges == Judged::hang))
        made.attempt_end =
            finish->condition.type == api::condition::complete ? AttemptEnd::complete : AttemptEnd::failed;
    const api::Time end = job_set->finished ? job_set->finished->last_transition : now;
    if (made.attempt_end && observed.job->attempt.began)
        made.attempt = since(*observed.job->attempt.began, end);
}

}  // namespace

Measurements measurements(const Observed& observed, const Decision& decision, const Outcome& outcome,
                          const Conclusion& conclusion, bool status_stored, api::Time now) {
    Measurements made;
    if (!observed.job) return made;
    const api::TrainJob& job = *observed.job;
    const bool done = std::holds_alternative<Done>(outcome.result);
    if (const auto* run = std::get_if<Run>(&decision))
        if (run->job_set == JobSetAction::create && outcome.job_set_written && !had_job_set(job))
            made.to_job_set = since(job.meta.creation, now);
    if (const auto* finish = std::get_if<Finish>(&decision); finish && status_stored) {
        made.end = end_of(*finish);
        const api::Time ended = finish->condition.last_transition;
        if (finish->from_job_set && ended != api::Time()) made.to_terminal = since(ended, now);
        if (conclusion.start_time && conclusion.completion_time)
            made.run = since(*conclusion.start_time, *conclusion.completion_time);
        if (const auto due = deadline(observed); due && made.end == End::deadline)
            made.deadline_late = since(*due, now);
    }
    if (status_stored && conclusion.start_time && conclusion.start_time != job.start_time)
        made.wait = since(job.meta.creation, *conclusion.start_time);
    if (status_stored) made.restarted = more(conclusion.restarts, job.restarts);
    made.restart_cause = cause_of_restart(decision, outcome);
    if (status_stored) measure_attempt(observed, decision, now, made);
    const auto* restart = std::get_if<Restart>(&decision);
    made.excludes_node = status_stored && restart && restart->judgement.excludes_node;
    const bool expired = std::holds_alternative<Expire>(decision) && done && observed.ttl;
    if (expired) {
        made.expired = job.ttl_seconds_after_finished ? TtlFrom::train_job : TtlFrom::runtime;
        if (const api::Condition* ended = api::terminal_condition(job))
            made.ttl_late = since(ended->last_transition + std::chrono::seconds(*observed.ttl), now);
    }
    made.expires = !expired && time_to_live(job, observed.ttl, now);
    made.clean_up_failed = failed_to_delete(decision, outcome);
    made.requeue = requeue_reason(observed, decision, conclusion);
    if (observed.availability) made.lease_is_ahead = is_ahead(*observed.availability, now);
    return made;
}

Measurements joined(const Measurements& earlier, Measurements latest) {
    if (!latest.wait) latest.wait = earlier.wait;
    if (latest.restarted == api::Restarts()) latest.restart_cause = earlier.restart_cause;
    latest.restarted = latest.restarted + earlier.restarted;
    return latest;
}

}  // namespace lifecycle
