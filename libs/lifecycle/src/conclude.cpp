#include "concluder.hpp"
#include "lifecycle/conclusion.hpp"
#include "lifecycle/deadline.hpp"
#include "lifecycle/jobs_status.hpp"
#include "lifecycle/progress_deadline.hpp"
#include "lifecycle/refusal.hpp"
#include "lifecycle/requeue.hpp"
#include "lifecycle/restarts.hpp"
#include "lifecycle/ttl.hpp"
#include "reports.hpp"
#include "retry_state.hpp"

namespace lifecycle {
namespace {

// Returns nullopt for a time that has passed: the backoff decides then when to retry.
std::optional<std::chrono::seconds> ahead(std::optional<std::chrono::seconds> left) {
    return left && left->count() > 0 ? left : std::nullopt;
}

std::optional<std::chrono::seconds> next_limit(const Observed& observed, api::Time now) {
    const auto deadline = sooner(ahead(time_left(observed, now)), ahead(next_progress_look(observed, now)));
    return sooner(deadline, ahead(time_to_live(*observed.job, observed.ttl, now)));
}

}  // namespace

std::string name_of(std::string_view kind, const api::TrainJob& job) {
    return std::string(kind) + " " + api::to_string(job.meta.key());
}

Concluder::Concluder(const Observed& observed, const Outcome& outcome, api::Time now, const Options& options)
    : observed_(observed),
      job_(*observed.job),
      outcome_(outcome),
      now_(now),
      options_(options),
      knows_job_set_(!may_be_outdated(observed)) {
    conclusion_.conditions = job_.conditions;
    conclusion_.jobs_status = job_.jobs_status;
    conclusion_.run_policy = job_.run_policy;
    conclusion_.runtime_digest = job_.runtime_digest;
    conclusion_.start_time = job_.start_time;
    conclusion_.completion_time = job_.completion_time;
    conclusion_.restarts = job_.restarts;
}

Conclusion Concluder::take() && {
    conclusion_.status_changed =
        conclusion_.conditions != job_.conditions || conclusion_.jobs_status != job_.jobs_status ||
        conclusion_.run_policy != job_.run_policy || conclusion_.runtime_digest != job_.runtime_digest ||
        conclusion_.start_time != job_.start_time || conclusion_.completion_time != job_.completion_time ||
        conclusion_.restarts != job_.restarts;
    const auto look = sooner(next_progress_look(observed_, now_), {});
    conclusion_.requeues_for_progress = look && conclusion_.requeue_after == look;
    if (auto restarted = restart_event(observed_, conclusion_.restarts))
        conclusion_.events.push_back(std::move(*restarted));
    for (Event& event : condition_events(job_.conditions, conclusion_.conditions))
        conclusion_.events.push_back(std::move(event));
    return std::move(conclusion_);
}

// Changes no condition, except to report the error: the decision may need a view that could not be read.
void Concluder::conclude_blindly(const ReadFailed& failed, const Decision& decision) {
    conclusion_.requeue_after = next_limit(observed_, now_);
    if (!reports_no_active_pods(observed_) && !takes_back_restarts(observed_)) follow_counts();
    report_error(failed.object, failed.error);
    if (leads_to_build(decision))
        say_what_delays(api::reason::jobs_build_retrying, failed.object, failed.error);
}

// Reports an error that affects only what depends on the object. The retry of another error covers it.
void Concluder::miss(const ReadFailed& failed) {
    if (conclusion_.retry_state == RetryState()) report_error(failed.object, failed.error);
}

void Concluder::look_for_stall(const Decision& decision) {
    report_stall(conclusion_, observed_, decision, outcome_, now_);
}

// Reports only the deletion of a TrainJob that another controller manages.
void Concluder::conclude_dispatched(const ReadFailed* unread, const Decision& decision) {
    const auto* expire = std::get_if<Expire>(&decision);
    if (!expire) return (*this)(Ignore{});
    if (unread) return report_error(unread->object, unread->error);
    (*this)(*expire);
}

// A new policy, digest or time is no reason to write the status of a job that is being deleted, or after an
// error that no condition reports.
void Concluder::follow_policy_and_times(const Decision& decision) {
    if (std::holds_alternative<Expire>(decision)) return;
    const auto* failed = std::get_if<WriteFailed>(&outcome_.result);
    const bool is_failing = std::holds_alternative<ReadFailed>(outcome_.result) ||
                            (failed && !(failed->write == Write::apply && is_rejection(failed->error)));
    if ((is_failing || job_.meta.deletion) && conclusion_.conditions == job_.conditions &&
        conclusion_.jobs_status == job_.jobs_status)
        return;
    follow_policy(decision);
    follow_runtime();
    follow_times();
}

void Concluder::operator()(const Ignore&) { wait_for_ttl(); }

void Concluder::operator()(const StoreTransition&) {
    follow_suspend();
    follow_job_set();
    conclusion_.decide_again = true;
}

void Concluder::operator()(const Finish& finish) {
    knows_job_set_ = true;  // there will be no other one
    merge_plugin_conditions(conclusion_.conditions, outcome_.plugin_conditions, job_.meta.generation, now_);
    if (finish.settle) {
        follow_suspend();
        settle_created(finish);
    }
    api::Condition condition = finish.condition;
    condition.observed_generation = job_.meta.generation;
    set_condition(conclusion_.conditions, std::move(condition), now_);
    std::erase_if(conclusion_.conditions, [](const auto& c) { return c.type == api::condition::stalled; });
    follow_job_set();
    // A JobSet that has ended needs no cleaning up.
    conclusion_.own_writes_need_no_reconcile =
        finish.from_job_set && !observed_.ttl && !outcome_.policy_unread;
    if (!conclusion_.own_writes_need_no_reconcile) conclusion_.requeue_after = min_requeue;
}

void Concluder::operator()(const CleanUp& clean_up) {
    wait_for_ttl();
    conclusion_.jobs_status = jobs_status(observed_);
    follow_generation();
    if (clean_up.delete_job_set) report_deletion();
    if (outcome_.policy_unread && std::holds_alternative<Done>(outcome_.result))
        report_error(outcome_.policy_unread->object, outcome_.policy_unread->error);
}

void Concluder::operator()(const Expire&) {
    std::visit(Overloaded{[&](const WriteFailed& failed) {
                              if (failed.error.code != api::Errc::not_found)
                                  report_error(failed.object, failed.error);
                          },
                          [&](const auto&) {
                              conclusion_.events.push_back(normal_event(
                                  event_reason::ttl_expired,
                                  job_.ttl_seconds_after_finished
                                      ? "TrainJob is deleted: its TTL has passed"
                                      : "TrainJob is deleted: the TTL of its runtime has passed"));
                          }},
               outcome_.result);
}

void Concluder::wait_for_ttl() {
    conclusion_.requeue_after = sooner(until(time_to_live(job_, observed_.ttl, now_)), {});
}

// A limit that has passed waits for a certain clock, or is about to end the job.
std::optional<std::chrono::seconds> Concluder::until(std::optional<std::chrono::seconds> limit) const {
    const bool waits = observed_.clock_is_uncertain && limit == std::chrono::seconds(0);
    return waits ? clock_recheck : limit;
}

bool Concluder::leads_to_build(const Decision& decision) const {
    const auto* run = std::get_if<Run>(&decision);
    return run ? run->build : std::holds_alternative<StoreTransition>(decision) && !job_.meta.deletion;
}

void Concluder::set(std::string_view type, std::string_view status, std::string_view reason,
                    std::string message, api::Time since) {
    set_condition(conclusion_.conditions,
                  {.type = std::string(type),
                   .status = std::string(status),
                   .reason = std::string(reason),
                   .message = std::move(message),
                   .last_transition = since,
                   .observed_generation = job_.meta.generation},
                  now_);
}

void Concluder::report_deletion() {
    const auto* failed = std::get_if<WriteFailed>(&outcome_.result);
    if (!failed) {
        conclusion_.events.push_back(normal_event(event_reason::job_set_deleted,
                                                  "The unfinished JobSet of the ended TrainJob is deleted"));
        return;
    }
    if (failed->error.code == api::Errc::not_found) return;
    // Another JobSet has the name, or another writer has changed it: the next reconcile decides.
    if (failed->error.code == api::Errc::conflict) {
        conclusion_.requeue_after = min_requeue;
        return;
    }
    retry(conclusion_, observed_.retry_state, failed->error, now_);
    conclusion_.retry_state.warned = observed_.retry_state.warned.value_or(now_);
    if (!observed_.retry_state.warned)
        conclusion_.events.push_back(warning_event(event_reason::job_set_deletion_failed,
                                                   failed->object + ": " + api::describe(failed->error)));
}

// Reports an error that no condition reports.
void Concluder::report_error(const std::string& object, const api::Error& error) {
    lifecycle::report_error(conclusion_, observed_.retry_state, object, error, now_);
}

Conclusion conclude(const Observed& observed, const Decision& decision, const Outcome& outcome, api::Time now,
                    const Options& options) {
    if (!observed.job) return {};
    Concluder concluder(observed, outcome, now, options);
    const auto* unread = std::get_if<ReadFailed>(&outcome.result);
    const bool is_managed_here = api::is_managed_here(*observed.job);
    if (!is_managed_here) {
        concluder.conclude_dispatched(unread, decision);
    } else if (unread) {
        concluder.conclude_blindly(*unread, decision);
    } else {
        std::visit(concluder, decision);
    }
    const bool goes_on =
        std::holds_alternative<Run>(decision) || std::holds_alternative<StoreTransition>(decision);
    if (!unread && outcome.policy_unread && goes_on) concluder.miss(*outcome.policy_unread);
    if (!unread && outcome.availability_unread && goes_on) concluder.miss(*outcome.availability_unread);
    if (is_managed_here) {
        concluder.look_for_stall(decision);
        // After all conditions, since a status with a new one gets the times, too.
        concluder.follow_policy_and_times(decision);
    }
    Conclusion conclusion = std::move(concluder).take();
    if (!std::holds_alternative<Finish>(decision)) report_uncertain_clock(conclusion, observed, now);
    if (!is_managed_here) return conclusion;
    report_blocked_deletion(conclusion, observed, now);
    report_at_risk(conclusion, observed, now);
    report_invalid_deadline(conclusion, observed);
    report_kept_job_set(conclusion, observed, decision, outcome);
    report_queue(conclusion, observed, decision);
    return conclusion;
}

Conclusion after_failed_status_write(Conclusion conclusion, const Observed& observed, const api::Error& error,
                                     api::Time now) {
    std::erase_if(conclusion.events, [](const Event& event) { return event.needs_status; });
    conclusion.decide_again = false;
    conclusion.own_writes_need_no_reconcile = false;
    conclusion.requeues_for_progress = false;
    RetryState before = observed.retry_state;
    if (conclusion.retry_state.warned) before.warned = conclusion.retry_state.warned;
    const RetryState reported = conclusion.retry_state;
    const std::string object = observed.job ? name_of("TrainJob", *observed.job) : "TrainJob";
    // The requeue time assumed that the status is written. Only time limits still count.
    conclusion.requeue_after.reset();
    if (observed.job) conclusion.requeue_after = next_limit(observed, now);
    report_error(conclusion, before, object + " status", error, now);
    conclusion.retry_state.deletion_reported = reported.deletion_reported;
    conclusion.retry_state.is_at_risk = reported.is_at_risk;
    conclusion.retry_state.invalid_reported = reported.invalid_reported;
    conclusion.retry_state.kept_reported = reported.kept_reported;
    conclusion.retry_state.queue_reported = reported.queue_reported;
    conclusion.retry_state.clock_reported = reported.clock_reported;
    // The failed write does not end the causes that the reconcile has found.
    conclusion.retry_state.obstructed_since = reported.obstructed_since;
    conclusion.retry_state.stall = observed.retry_state.stall;
    return conclusion;
}

}  // namespace lifecycle
