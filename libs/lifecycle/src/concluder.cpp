#include "concluder.hpp"

#include <algorithm>

#include "lifecycle/conclusion.hpp"
#include "lifecycle/deadline.hpp"
#include "lifecycle/jobs_status.hpp"
#include "lifecycle/judge.hpp"
#include "lifecycle/progress_deadline.hpp"
#include "lifecycle/refusal.hpp"
#include "lifecycle/requeue.hpp"
#include "lifecycle/restarts.hpp"
#include "lifecycle/run_policy.hpp"
#include "lifecycle/stopping.hpp"
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

// A dozen seconds, the usual time for new Jobs.
constexpr int usual_looks = 4;

std::string why_it_ended(const api::Failure& failure) {
    return (api::is_of_pod(failure) ? "The first to fail: " : "The last attempt: ") + api::describe(failure);
}

const api::Condition* end_of(const std::vector<api::Condition>& conditions) {
    for (const std::string_view type : {api::condition::complete, api::condition::failed})
        if (const auto* found = api::find_condition(conditions, type); found && found->is_true())
            return found;
    return nullptr;
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
    conclusion_.failures = job_.failures;
    conclusion_.attempt = job_.attempt;
}

Conclusion Concluder::take() && {
    conclusion_.status_changed =
        conclusion_.conditions != job_.conditions || conclusion_.jobs_status != job_.jobs_status ||
        conclusion_.run_policy != job_.run_policy || conclusion_.runtime_digest != job_.runtime_digest ||
        conclusion_.start_time != job_.start_time || conclusion_.completion_time != job_.completion_time ||
        conclusion_.restarts != job_.restarts || conclusion_.failures != job_.failures ||
        conclusion_.attempt != job_.attempt;
    const auto look = sooner(next_progress_look(observed_, now_), {});
    conclusion_.requeues_for_progress = look && conclusion_.requeue_after == look;
    if (auto restarted = restart_event(observed_, conclusion_.restarts))
        conclusion_.events.push_back(std::move(*restarted));
    const api::Condition* end = end_of(conclusion_.conditions);
    for (Event& event : condition_events(job_.conditions, conclusion_.conditions)) {
        if (end && event.reason == end->reason) event.note += details_of_end_;
        conclusion_.events.push_back(std::move(event));
    }
    return std::move(conclusion_);
}

// Changes no condition, except to report the error: the decision may need a view that could not be read.
void Concluder::conclude_blindly(const ReadFailed& failed, const Decision& decision) {
    conclusion_.requeue_after = next_limit(observed_, now_);
    // Of a job that has ended, the JobSet may be an earlier one.
    const bool may_follow = !api::terminal_condition(job_) && !reports_no_active_pods(observed_) &&
                            !takes_back_restarts(observed_);
    if (may_follow) follow_counts();
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
    if (finish.settle) follow_suspend();
    end_created(finish);
    details_of_end_ = finish.details;
    api::Condition condition = finish.condition;
    condition.observed_generation = job_.meta.generation;
    if (outcome_.failure) {
        note_failure();
        // What is known without a Pod is what the JobSet says, and the message as well.
        if (!outcome_.failure->pod.empty() || !api::is_of_pod(*outcome_.failure))
            condition.message +=
                (condition.message.empty() ? "" : ". ") + why_it_ended(conclusion_.failures.front());
    }
    set_condition(conclusion_.conditions, std::move(condition), now_);
    std::erase_if(conclusion_.conditions, [](const auto& c) {
        return c.type == api::condition::stalled || c.type == api::condition::restarting;
    });
    conclusion_.attempt.next.reset();
    follow_job_set();
    // A JobSet that has ended needs no cleaning up.
    conclusion_.own_writes_need_no_reconcile =
        finish.from_job_set && !observed_.ttl && !outcome_.policy_unread && observed_.objects_of_run.empty();
    if (!conclusion_.own_writes_need_no_reconcile) conclusion_.requeue_after = min_requeue;
}

// The JobSet names a Job that has failed, and one that hangs says nothing. What has happened is in the Pod,
// and goes with it.
void Concluder::note_failure() {
    api::Failure failure = *outcome_.failure;
    failure.attempt = restarts(observed_).all;
    auto& failures = conclusion_.failures;
    failures.insert(failures.begin(), std::move(failure));
    if (failures.size() > api::most_failures) failures.resize(api::most_failures);
}

// The next attempt is another JobSet. It follows from the status alone, so it cannot be lost or come twice.
void Concluder::operator()(const Restart& restart) {
    const Judgement& judgement = restart.judgement;
    knows_job_set_ =
        true;  // the status must show that there was one: the next is built from the same runtime
    created();
    follow_suspend();
    follow_job_set();
    note_failure();
    if (judgement.ends_exclusions)
        for (api::Failure& each : conclusion_.failures) each.excludes_node = false;
    const api::Restarts before = restarts(observed_);
    conclusion_.restarts = before + api::Restarts{.all = 1, .counted = judgement.counts() ? 1 : 0};
    const api::Time next = now_ + judgement.delay;
    conclusion_.attempt = {
        .next = next, .failures = judgement.failures, .uncounted_failures = judgement.uncounted_failures};
    const std::string number = std::to_string(conclusion_.restarts.all);
    set(api::condition::restarting, "True", api::reason::backing_off,
        "attempt " + number + " begins at " + api::format_time(next) + ". " +
            why_it_ended(conclusion_.failures.front()));
    std::erase_if(conclusion_.conditions, [](const auto& c) { return c.type == api::condition::stalled; });
    conclusion_.conditions = in_order(std::move(conclusion_.conditions));
    std::string counted = std::to_string(conclusion_.restarts.counted);
    if (outcome_.max_restarts) counted += " of " + std::to_string(*outcome_.max_restarts);
    Event event = warning_event(event_reason::restarted, "restart " + number + ", " + counted + " counted: " +
                                                             api::describe(conclusion_.failures.front()));
    event.needs_status = true;
    conclusion_.events.push_back(std::move(event));
    // One that has not failed goes at once.
    const api::JobSet* job_set = own_job_set(observed_);
    const bool goes_at_once = job_set && !job_set->finished;
    conclusion_.requeue_after =
        sooner(until(time_left(observed_, now_)), goes_at_once ? std::chrono::seconds(0) : judgement.delay);
}

void Concluder::operator()(const CleanUp& clean_up) {
    wait_for_ttl();
    conclusion_.jobs_status = jobs_status(observed_);
    follow_generation();
    const bool stops = clean_up.job_set == EndOfJobSet::suspend || clean_up.job_set == EndOfJobSet::wait;
    if (stops && end_of_stop(job_) > now_)
        conclusion_.requeue_after = sooner(conclusion_.requeue_after, end_of_stop(job_) - now_);
    const auto* failed = std::get_if<WriteFailed>(&outcome_.result);
    const bool ends = clean_up.job_set == EndOfJobSet::suspend || clean_up.job_set == EndOfJobSet::remove;
    const bool is_of_job_set = ends && (!failed || failed->object == name_of("JobSet", job_));
    if (is_of_job_set)
        report_end_of_job_set(clean_up.job_set);
    else if (failed && !observed_.objects_of_run.empty())
        report_error(failed->object, failed->error);
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

void Concluder::report_end_of_job_set(EndOfJobSet step) {
    const auto* failed = std::get_if<WriteFailed>(&outcome_.result);
    if (!failed) {
        if (step == EndOfJobSet::remove)
            conclusion_.events.push_back(normal_event(
                event_reason::job_set_deleted, "The unfinished JobSet of the ended TrainJob is deleted"));
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
    conclusion.retry_state.service = observed.retry_state.service;
    return conclusion;
}

void Concluder::operator()(const Run& run) {
    knows_job_set_ = knows_job_set_ || (run.verifies && std::holds_alternative<Done>(outcome_.result));
    conclusion_.requeue_after =
        sooner(until(time_left(observed_, now_)), next_progress_look(observed_, now_));
    // A suspended job keeps a JobSet that has failed until it is resumed, and gets one that is missing.
    const bool goes_on = !job_.suspend || !own_job_set(observed_);
    if (run.job_set == JobSetAction::back_off && goes_on && job_.attempt.next)
        conclusion_.requeue_after = sooner(conclusion_.requeue_after, *job_.attempt.next - now_);
    if (const auto look = next_look_at_placement(observed_)) {
        const api::Time again = outcome_.waits_for_node_since.value_or(now_) + exclusion_starves;
        conclusion_.requeue_after = sooner(conclusion_.requeue_after, (*look > now_ ? *look : again) - now_);
    }
    merge_plugin_conditions(conclusion_.conditions, outcome_.plugin_conditions, job_.meta.generation, now_);
    std::visit(Overloaded{[&](const Done&) { done(run); }, [](const ReadFailed&) {},  // conclude_blindly
                          [&](const BuildFailed& failed) {
                              not_created(api::reason::jobs_build_failed, api::describe(failed.error));
                          },
                          [&](const WriteFailed& failed) { write_failed(failed); },
                          [&](const ForeignObject& foreign) { taken(foreign); },
                          [&](const Waiting& waiting) {
                              conclusion_.events.push_back(
                                  normal_event(event_reason::waiting_for_pods, describe(waiting)));
                          },
                          [&](const JobsReplaced& replaced) { jobs_replaced(replaced); },
                          [&](const ReadyToCreate&) { creating(); },
                          [&](const Unavailable& lacks) {
                              not_created(api::reason::pod_group_unavailable,
                                          lacks.object + ": " + lacks.why);
                          },
                          [&](const WaitingForDeletion& waiting) {
                              requeue_soon();
                              forget_errors();
                              conclusion_.events.push_back(
                                  normal_event(event_reason::waiting_for_deletion, describe(waiting)));
                          },
                          [&](const JobSetRemoved& removed) {
                              conclusion_.events.push_back(normal_event(
                                  event_reason::job_set_deleted, "The JobSet is built anew: " + removed.why));
                              // The caches may never have had the JobSet, and then show no deletion.
                              if (!had_job_set(job_)) requeue_soon();
                          }},
               outcome_.result);
    if (knows_job_set_ && own_job_set(observed_)) forget_errors();
    follow_job_set();
}

void Concluder::done(const Run& run) {
    if (run.job_set == JobSetAction::refuse) return taken({name_of("JobSet", job_), observed_.is_leftover});
    if (run.build && run.job_set == JobSetAction::wait_until_gone)
        conclusion_.events.push_back(normal_event(event_reason::waiting_for_deletion, job_set_being_deleted));
    if (run.build && run.job_set == JobSetAction::wait_until_stopped) {
        conclusion_.events.push_back(normal_event(event_reason::waiting_for_pods, stops_first(job_)));
        conclusion_.requeue_after =
            sooner(conclusion_.requeue_after, next_look_at_stopping(observed_.retry_state, now_));
    }
    for (const std::string& object : outcome_.lost)
        conclusion_.events.push_back(warning_event(
            event_reason::keys_lost,
            object +
                " is gone. Pods of this job that start from now on cannot mount it. It is not created "
                "again while Pods run with the old keys: restore it, or suspend and resume the TrainJob"));
    if (outcome_.kept && !outcome_.kept->is_for_good) requeue_soon();
    if (learned_about_creation(run)) created();
    if (!outcome_.job_set_written) return;
    conclusion_.own_writes_need_no_reconcile = run.job_set == JobSetAction::create;
    // A job that was built from its snapshot without a runtime may have a deadline that this reconcile did
    // not know.
    const api::RunPolicy* known = policy_of(observed_);
    if (outcome_.run_policy && *outcome_.run_policy != (known ? *known : api::RunPolicy()))
        conclusion_.requeue_after = min_requeue;
    if (run.rebuilds)
        conclusion_.events.push_back(
            warning_event(event_reason::job_set_recreated, "The JobSet was gone and has been created again"));
    conclusion_.events.insert(conclusion_.events.end(), outcome_.events.begin(), outcome_.events.end());
}

// Requeues, since the JobSet's status does not show for sure when the Jobs have been made anew.
void Concluder::jobs_replaced(const JobsReplaced& replaced) {
    if (!replaced.any_removed) {
        requeue_soon();
        // JobSet needs seconds for new Jobs, so the first looks send no event.
        if (conclusion_.retry_state.failures > usual_looks)
            conclusion_.events.push_back(normal_event(event_reason::waiting_for_jobs, describe(replaced)));
        return;
    }
    conclusion_.requeue_after = min_requeue;
    conclusion_.events.push_back(normal_event(
        event_reason::jobs_replaced,
        "Suspended Jobs are created again, since they would keep what they have: " + replaced.why));
}

// Requeues with backoff: no watch shows the end of the wait.
void Concluder::requeue_soon() {
    conclusion_.retry_state = one_more_failure(observed_.retry_state, now_);
    conclusion_.requeue_after = sooner(conclusion_.requeue_after, backoff(conclusion_.retry_state.failures));
}

// Returns false while the job is being deleted, and while it waits for an old JobSet or for pods to end.
bool Concluder::learned_about_creation(const Run& run) const {
    if (!run.build || run.job_set == JobSetAction::wait_until_gone) return false;
    const bool waits_for_pods = job_.suspend && run.job_set == JobSetAction::leave;
    return !waits_for_pods || !api::find_condition(conclusion_.conditions, api::condition::created);
}

void Concluder::write_failed(const WriteFailed& failed) {
    if (failed.write == Write::apply && is_rejection(failed.error))
        return not_created(api::reason::jobs_creation_failed,
                           failed.object + ": " + api::describe(failed.error));
    report_error(failed.object, failed.error);
    say_what_delays(api::reason::jobs_creation_retrying, failed.object, failed.error);
}

std::string describe(const ForeignObject& foreign) {
    return foreign.object + " exists already and does not belong to this TrainJob" +
           (foreign.leftover ? ", but to an earlier one of this name; it will be collected" : "");
}

void Concluder::taken(const ForeignObject& foreign) {
    not_created(api::reason::jobs_creation_failed, describe(foreign));
    if (foreign.leftover) conclusion_.requeue_after = sooner(conclusion_.requeue_after, garbage_backoff);
}

// Reports in `Created` an error that has lasted and delays the JobSet. Leaves `Created` if it alone shows
// that there was a JobSet, since the source of the build depends on that.
void Concluder::say_what_delays(std::string_view retrying, const std::string& object,
                                const api::Error& error) {
    const bool remembers = api::is_true(job_.conditions, api::condition::created) && job_.jobs_status.empty();
    const Obstacle obstacle = obstacle_of(error);
    if (own_job_set(observed_) || remembers || obstacle == Obstacle::passing) return;
    if (!has_lasted(observed_.retry_state, now_)) return;
    const bool server = obstacle == Obstacle::server;
    const api::Condition wanted = {.type = std::string(api::condition::created),
                                   .status = server ? "Unknown" : "False",
                                   .reason = std::string(server ? retrying : api::reason::permission_denied),
                                   .message = object + ": " + api::describe(error)};
    const api::Condition* stored = api::find_condition(job_.conditions, wanted.type);
    if (stored && !may_state_again(conclusion_.retry_state, *stored, wanted, now_)) return;
    set(wanted.type, wanted.status, wanted.reason, wanted.message);
    conclusion_.conditions = in_order(std::move(conclusion_.conditions));
    conclusion_.retry_state.stated = now_;
}

void Concluder::created() {
    if (options_.created_condition == CreatedCondition::always)
        return set(api::condition::created, "True", api::reason::jobs_creation_succeeded,
                   "Succeeded to create Jobs");
    say_nothing_of_creation();
}

void Concluder::say_nothing_of_creation() {
    std::erase_if(conclusion_.conditions, [](const auto& c) { return c.type == api::condition::created; });
}

// Ends the report of errors in `Created`: they are over, whatever the job waits for now.
void Concluder::forget_errors() {
    const api::Condition* said = api::find_condition(conclusion_.conditions, api::condition::created);
    if (!said || !is_open(*said)) return;
    own_job_set(observed_) ? created() : say_nothing_of_creation();
}

// Sets `Created` to Unknown: False would permit a correction between the read of the TrainJob and the
// creation of its JobSet, and True would be wrong so far.
void Concluder::creating() {
    set(api::condition::created, "Unknown", api::reason::jobs_creating, "The JobSet is being created");
    conclusion_.decide_again = true;
}

// Retries with backoff, since a mended cause may cause no watch event.
void Concluder::not_created(std::string_view reason, std::string message) {
    const api::Condition* before = api::find_condition(job_.conditions, api::condition::created);
    // The dry run succeeded, but the create was refused: the own status write must not cause the next attempt
    // at once.
    conclusion_.own_writes_need_no_reconcile = before && before->reason == api::reason::jobs_creating;
    set(api::condition::created, "False", reason, std::move(message));
    requeue_soon();
}

// An end has one True condition, the end itself. What kept the objects from being created stays, unless they
// were.
void Concluder::end_created(const Finish& finish) {
    const api::Condition* said = api::find_condition(conclusion_.conditions, api::condition::created);
    if (!said) return;
    const bool is_mended = finish.settle && is_open(*said) && own_job_set(observed_);
    if (said->is_true() || finish.from_job_set || is_mended) say_nothing_of_creation();
}

// Stores the run policy that the job began with. A job that has ended keeps the stored one.
void Concluder::follow_policy(const Decision& decision) {
    const bool is_fixed = job_.run_policy && had_job_set(job_);
    if (is_fixed || api::terminal_condition(job_)) return;
    const bool finishes = std::holds_alternative<Finish>(decision);
    if (outcome_.run_policy)
        conclusion_.run_policy = outcome_.run_policy;
    else if (observed_.snapshot_policy && !awaits_snapshot())
        conclusion_.run_policy = observed_.snapshot_policy;
    else if (finishes && !has_begun(observed_) && observed_.live_policy)
        conclusion_.run_policy = observed_.live_policy;
    else if (wants_snapshot_policy(observed_) && !observed_.snapshot_policy && (finishes || shows_job_set()))
        // A policy that was stored before the JobSet may be of another snapshot, and would stay from now on.
        conclusion_.run_policy.reset();
}

// Stores which runtime the job began with, once there is a JobSet of it, and for good. The JobSet itself
// tells that after a crash; one of another controller leaves it to the snapshot.
void Concluder::follow_runtime() {
    if (!job_.runtime_digest.empty() || api::terminal_condition(job_)) return;
    const api::JobSet* job_set = knows_job_set_ ? own_job_set(observed_) : nullptr;
    if (!job_set && !outcome_.job_set_written) return;
    const std::string noted = job_set ? job_set->runtime_digest : std::string();
    for (const std::string& digest : {outcome_.runtime_digest, observed_.snapshot_digest, noted})
        if (conclusion_.runtime_digest.empty()) conclusion_.runtime_digest = digest;
}

// Returns whether the status will show that there is a JobSet.
bool Concluder::shows_job_set() const {
    return api::is_true(conclusion_.conditions, api::condition::created) || !conclusion_.jobs_status.empty();
}

// Computes the times from conditions and metadata, so they are right whatever was written into the status.
// Jobs that ended under Kubeflow Trainer have none.
void Concluder::follow_times() {
    const bool had_ended = api::terminal_condition(job_) != nullptr;
    const api::Condition* ended = end_of(conclusion_.conditions);
    if (!had_ended || job_.start_time) conclusion_.start_time = start_before(ended, had_ended);
    if (!had_ended || job_.completion_time)
        conclusion_.completion_time = ended ? std::optional(ended->last_transition) : std::nullopt;
}

// A job that ended before its suspension was stored has run, although `Suspended` is True by now.
std::optional<api::Time> Concluder::start_before(const api::Condition* ended, bool had_ended) const {
    const auto* suspended = api::find_condition(conclusion_.conditions, api::condition::suspended);
    const bool suspended_since =
        ended && suspended && suspended->is_true() && suspended->last_transition >= ended->last_transition;
    if (!suspended_since) return last_start(conclusion_.conditions, job_.meta.creation);
    return had_ended ? job_.start_time : last_start(job_.conditions, job_.meta.creation);
}

// A JobSet of another controller may have no snapshot until it is adopted.
bool Concluder::awaits_snapshot() const {
    const api::JobSet* job_set = own_job_set(observed_);
    return job_set && !job_set->applied_here;
}

void Concluder::follow_suspend() {
    const bool stored = api::is_true(conclusion_.conditions, api::condition::suspended);
    if (job_.suspend) set(api::condition::suspended, "True", api::reason::suspended, "TrainJob is suspended");
    const bool unseen = observed_.first_resume && may_have_been_resumed(observed_);
    if (!job_.suspend && (stored || unseen))
        set(api::condition::suspended, "False", api::reason::resumed, "TrainJob is resumed",
            unseen ? *observed_.first_resume : api::Time());
}

void Concluder::follow_counts() {
    if (!knows_job_set_) return;
    conclusion_.jobs_status = jobs_status(observed_);
    conclusion_.restarts = restarts(observed_);
    follow_attempt();
}

// An attempt that waits, or is suspended, has not begun. The start of a job without attempts matters to its
// deadlines alone, and is another one after each restart by JobSet: with the number of restarts come
// counts of before, in which a Job has failed.
void Concluder::follow_attempt() {
    const api::JobSet* job_set = own_job_set(observed_);
    if (!job_set || job_set->finished || is_judged(observed_) || api::terminal_condition(job_)) return;
    api::Attempt& attempt = conclusion_.attempt;
    const auto limits = progress_deadlines(observed_);
    const bool is_queued = is_in_own_queue(job_, job_set->queue);
    const bool matters = job_set->is_attempt || (limits && (limits->start || is_queued));
    const bool has_restarted = !job_set->is_attempt && conclusion_.restarts.all > job_.restarts.all;
    if (!matters || has_restarted || job_set->suspend) attempt.began.reset();
    if (job_set->suspend || !(job_set->any_active() || job_set->all_started)) return;
    attempt.next.reset();
    std::erase_if(conclusion_.conditions, [](const auto& c) { return c.type == api::condition::restarting; });
    const bool is_new = !attempt.began || !all_started_since(observed_);
    const bool has_failed = std::any_of(job_set->replicated_jobs.begin(), job_set->replicated_jobs.end(),
                                        [](const api::JobStatus& each) { return each.failed > 0; });
    if (!matters || !is_new || !job_set->all_started || has_failed) return;
    // A time that is too early would end the job too early.
    if (observed_.clock_is_uncertain)
        conclusion_.requeue_after = sooner(conclusion_.requeue_after, clock_recheck);
    else
        attempt.began = std::max(now_, start_of_run(observed_));
}

void Concluder::follow_job_set() {
    follow_counts();
    follow_generation();
    conclusion_.conditions = in_order(std::move(conclusion_.conditions));
}

// Clients wait for conditions with the generation of the spec, but not for those of Kubeflow Trainer,
// which have none.
void Concluder::follow_generation() {
    if (job_.meta.deletion) return;  // that was its last generation
    for (api::Condition& condition : conclusion_.conditions)
        if (is_built_in(condition.type) && condition.observed_generation != 0)
            condition.observed_generation = job_.meta.generation;
}

}  // namespace lifecycle
