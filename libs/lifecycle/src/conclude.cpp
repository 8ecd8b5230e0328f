#include "blocked_deletion.hpp"
#include "lifecycle/conclusion.hpp"
#include "lifecycle/deadline.hpp"
#include "lifecycle/jobs_status.hpp"
#include "lifecycle/refusal.hpp"
#include "lifecycle/requeue.hpp"
#include "lifecycle/restarts.hpp"
#include "lifecycle/run_policy.hpp"
#include "lifecycle/ttl.hpp"
#include "report_stall.hpp"
#include "retry_state.hpp"

namespace lifecycle {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
    using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;  // clang-tidy 14 needs the guide

// A dozen seconds.
constexpr int usual_looks = 4;

std::string name_of(std::string_view kind, const api::TrainJob& job) {
    return std::string(kind) + " " + api::to_string(job.meta.key());
}

// What has passed already is no time to wait for; how often to retry is another question.
std::optional<std::chrono::seconds> ahead(std::optional<std::chrono::seconds> left) {
    return left && left->count() > 0 ? left : std::nullopt;
}

const api::Condition* end_of(const std::vector<api::Condition>& conditions) {
    for (const std::string_view type : {api::condition::complete, api::condition::failed})
        if (const auto* found = api::find_condition(conditions, type); found && found->is_true())
            return found;
    return nullptr;
}

// Builds the conclusion of one reconcile. A member function per decision; the smaller ones are what those
// share.
class Concluder {
public:
    Concluder(const Observed& observed, const Outcome& outcome, api::Time now, const Options& options)
        : observed_(observed), job_(*observed.job), outcome_(outcome), now_(now), options_(options) {
        conclusion_.conditions = job_.conditions;
        conclusion_.jobs_status = job_.jobs_status;
        conclusion_.run_policy = job_.run_policy;
        conclusion_.start_time = job_.start_time;
        conclusion_.completion_time = job_.completion_time;
        conclusion_.restarts = job_.restarts;
    }

    Conclusion take() && {
        conclusion_.status_changed =
            conclusion_.conditions != job_.conditions || conclusion_.jobs_status != job_.jobs_status ||
            conclusion_.run_policy != job_.run_policy || conclusion_.start_time != job_.start_time ||
            conclusion_.completion_time != job_.completion_time || conclusion_.restarts != job_.restarts;
        if (auto restarted = restart_event(observed_, conclusion_.restarts))
            conclusion_.events.push_back(std::move(*restarted));
        for (Event& event : condition_events(job_.conditions, conclusion_.conditions))
            conclusion_.events.push_back(std::move(event));
        return std::move(conclusion_);
    }

    // What was decided may need a view that could not be had, so no condition changes but to say so.
    void conclude_blindly(const ReadFailed& failed, const Decision& decision) {
        conclusion_.requeue_after =
            sooner(ahead(time_left(observed_, now_)), ahead(time_to_live(job_, observed_.ttl, now_)));
        if (!reports_no_active_pods(observed_)) follow_counts();
        trouble(failed.object, failed.error);
        if (leads_to_build(decision))
            say_what_delays(api::reason::jobs_build_retrying, failed.object, failed.error);
    }

    // It holds up nothing but what depends on it. Other trouble has its own retry.
    void miss(const ReadFailed& failed) {
        if (conclusion_.retry_state == RetryState()) trouble(failed.object, failed.error);
    }

    void look_for_stall(const Decision& decision) {
        report_stall(conclusion_, observed_, decision, outcome_, now_);
    }

    // Nothing is written of it but its deletion.
    void conclude_dispatched(const ReadFailed* unread, const Decision& decision) {
        const auto* expire = std::get_if<Expire>(&decision);
        if (!expire) return (*this)(Ignore{});
        if (unread) return trouble(unread->object, unread->error);
        (*this)(*expire);
    }

    // Of a job that is being deleted, or where trouble is met that no condition tells of, they are no reason
    // for a write.
    void follow_policy_and_times(const Decision& decision) {
        if (std::holds_alternative<Expire>(decision)) return;
        const auto* failed = std::get_if<WriteFailed>(&outcome_.result);
        const bool in_trouble = std::holds_alternative<ReadFailed>(outcome_.result) ||
                                (failed && !(failed->write == Write::apply && is_rejection(failed->error)));
        if ((in_trouble || job_.meta.deletion) && conclusion_.conditions == job_.conditions &&
            conclusion_.jobs_status == job_.jobs_status)
            return;
        follow_policy(decision);
        follow_times();
    }

    void operator()(const Ignore&) { wait_for_ttl(); }

    void operator()(const StoreTransition&) {
        follow_suspend();
        follow_job_set();
        conclusion_.decide_again = true;
    }

    void operator()(const Finish& finish) {
        knows_job_set_ = true;  // there will be no other one
        merge_plugin_conditions(conclusion_.conditions, outcome_.plugin_conditions, job_.meta.generation,
                                now_);
        if (finish.settle) {
            follow_suspend();
            settle_created(finish);
        }
        api::Condition condition = finish.condition;
        condition.observed_generation = job_.meta.generation;
        set_condition(conclusion_.conditions, std::move(condition), now_);
        std::erase_if(conclusion_.conditions,
                      [](const auto& c) { return c.type == api::condition::stalled; });
        follow_job_set();
        // A JobSet that has ended needs no cleaning up.
        conclusion_.settled = finish.from_job_set && !observed_.ttl && !outcome_.policy_unread;
        if (!conclusion_.settled) conclusion_.requeue_after = min_requeue;
    }

    void operator()(const CleanUp& clean_up) {
        wait_for_ttl();
        conclusion_.jobs_status = jobs_status(observed_);
        follow_generation();
        if (clean_up.delete_job_set) tell_of_deletion();
        if (outcome_.policy_unread && std::holds_alternative<Done>(outcome_.result))
            trouble(outcome_.policy_unread->object, outcome_.policy_unread->error);
    }

    void operator()(const Expire&) {
        std::visit(Overloaded{[&](const WriteFailed& failed) {
                                  if (failed.error.code != api::Errc::not_found)
                                      trouble(failed.object, failed.error);
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

    void operator()(const Run& run) {
        knows_job_set_ = knows_job_set_ || (run.verifies && std::holds_alternative<Done>(outcome_.result));
        conclusion_.requeue_after = sooner(time_left(observed_, now_), {});
        merge_plugin_conditions(conclusion_.conditions, outcome_.plugin_conditions, job_.meta.generation,
                                now_);
        std::visit(
            Overloaded{[&](const Done&) { done(run); }, [](const ReadFailed&) {},  // conclude_blindly
                       [&](const BuildFailed& failed) {
                           not_created(api::reason::jobs_build_failed, api::describe(failed.error));
                       },
                       [&](const WriteFailed& failed) { write_failed(failed); },
                       [&](const ForeignObject& foreign) { taken(foreign); },
                       [&](const Waiting& waiting) {
                           conclusion_.events.push_back(normal_event(
                               event_reason::waiting_for_pods,
                               "The JobSet takes a change once none of its pods is active: " + waiting.why));
                       },
                       [&](const JobsReplaced& replaced) { jobs_replaced(replaced); },
                       [&](const ReadyToCreate&) { creating(); },
                       [&](const WaitingForClaim& waiting) {
                           requeue_soon();
                           forget_trouble();
                           conclusion_.events.push_back(normal_event(
                               event_reason::waiting_for_deletion,
                               waiting.claim + " is being deleted; the JobSet is created once it is gone"));
                       },
                       [&](const JobSetRemoved& removed) {
                           conclusion_.events.push_back(normal_event(
                               event_reason::job_set_deleted, "The JobSet is built anew: " + removed.why));
                           // The caches may never have had it, and then do not tell that it is gone.
                           if (!had_job_set(job_)) requeue_soon();
                       }},
            outcome_.result);
        if (knows_job_set_ && own_job_set(observed_)) forget_trouble();
        follow_job_set();
    }

private:
    // What the job began with. An ended one keeps what its last status says.
    void follow_policy(const Decision& decision) {
        const bool is_fixed = job_.run_policy && had_job_set(job_);
        if (is_fixed || api::terminal_condition(job_)) return;
        if (outcome_.run_policy)
            conclusion_.run_policy = outcome_.run_policy;
        else if (observed_.snapshot_policy && !awaits_snapshot())
            conclusion_.run_policy = observed_.snapshot_policy;
        else if (std::holds_alternative<Finish>(decision) && !has_begun(observed_) && observed_.live_policy)
            conclusion_.run_policy = observed_.live_policy;
    }

    // Conditions and metadata tell them, so that they are right whatever was written there. Jobs that ended
    // under older releases have none.
    void follow_times() {
        const bool had_ended = api::terminal_condition(job_) != nullptr;
        const api::Condition* ended = end_of(conclusion_.conditions);
        if (!had_ended || job_.start_time) conclusion_.start_time = start_before(ended, had_ended);
        if (!had_ended || job_.completion_time)
            conclusion_.completion_time = ended ? std::optional(ended->last_transition) : std::nullopt;
    }

    // A job that ended before its suspension was stored has run, although `Suspended` is True by now.
    std::optional<api::Time> start_before(const api::Condition* ended, bool had_ended) const {
        const auto* suspended = api::find_condition(conclusion_.conditions, api::condition::suspended);
        const bool suspended_since = ended && suspended && suspended->is_true() &&
                                     suspended->last_transition >= ended->last_transition;
        if (!suspended_since) return last_start(conclusion_.conditions, job_.meta.creation);
        return had_ended ? job_.start_time : last_start(job_.conditions, job_.meta.creation);
    }

    // What another controller made may have no snapshot until it is adopted.
    bool awaits_snapshot() const {
        const api::JobSet* job_set = own_job_set(observed_);
        return job_set && !job_set->applied_by_us;
    }

    void wait_for_ttl() { conclusion_.requeue_after = sooner(time_to_live(job_, observed_.ttl, now_), {}); }

    bool leads_to_build(const Decision& decision) const {
        const auto* run = std::get_if<Run>(&decision);
        return run ? run->build : std::holds_alternative<StoreTransition>(decision) && !job_.meta.deletion;
    }

    void done(const Run& run) {
        if (run.job_set == JobSetAction::refuse)
            return taken({name_of("JobSet", job_), observed_.is_leftover});
        if (run.build && run.job_set == JobSetAction::wait_until_gone)
            conclusion_.events.push_back(
                normal_event(event_reason::waiting_for_deletion,
                             "The JobSet is being deleted; it is created again once it is gone"));
        for (const std::string& object : outcome_.lost)
            conclusion_.events.push_back(warning_event(
                event_reason::keys_lost,
                object +
                    " is gone. Pods of this job that start from now on cannot, and it is not made anew "
                    "beside "
                    "those that run with the old keys: put it back, or suspend and resume the TrainJob"));
        if (learned_about_creation(run)) created();
        if (!outcome_.job_set_written) return;
        conclusion_.settled = run.job_set == JobSetAction::create && !outcome_.plugins_follow;
        // Built from its snapshot without a runtime, it may have a deadline that this reconcile did not know.
        const api::RunPolicy* known = policy_of(observed_);
        if (outcome_.run_policy && *outcome_.run_policy != (known ? *known : api::RunPolicy()))
            conclusion_.requeue_after = min_requeue;
        if (run.rebuilds)
            conclusion_.events.push_back(warning_event(event_reason::job_set_recreated,
                                                       "The JobSet was gone and has been created again"));
        conclusion_.events.insert(conclusion_.events.end(), outcome_.remarks.begin(), outcome_.remarks.end());
    }

    // JobSet's status tells when they have been made anew, but not for sure.
    void jobs_replaced(const JobsReplaced& replaced) {
        if (!replaced.any_removed) {
            requeue_soon();
            // Mostly it takes seconds.
            if (conclusion_.retry_state.failures > usual_looks)
                conclusion_.events.push_back(normal_event(
                    event_reason::waiting_for_jobs,
                    "The job goes on once Jobs have been made anew; it waits for " + replaced.waits_for));
            return;
        }
        conclusion_.requeue_after = min_requeue;
        conclusion_.events.push_back(normal_event(
            event_reason::jobs_replaced,
            "Suspended Jobs are made anew, since they would keep what they have: " + replaced.why));
    }

    // No watch tells of what it waits for.
    void requeue_soon() {
        conclusion_.retry_state = one_more_failure(observed_.retry_state, now_);
        conclusion_.requeue_after =
            sooner(conclusion_.requeue_after, backoff(conclusion_.retry_state.failures));
    }

    // Nothing while the job is being deleted, or waits for an old JobSet to go or for pods to end.
    bool learned_about_creation(const Run& run) const {
        if (!run.build || run.job_set == JobSetAction::wait_until_gone) return false;
        const bool waits_for_pods = job_.suspend && run.job_set == JobSetAction::leave;
        return !waits_for_pods || !api::find_condition(conclusion_.conditions, api::condition::created);
    }

    void write_failed(const WriteFailed& failed) {
        if (failed.write == Write::apply && is_rejection(failed.error))
            return not_created(api::reason::jobs_creation_failed,
                               failed.object + ": " + api::describe(failed.error));
        trouble(failed.object, failed.error);
        say_what_delays(api::reason::jobs_creation_retrying, failed.object, failed.error);
    }

    // A job without a JobSet, once it has lasted. Where nothing but `Created` remembers that there was one,
    // it has to: what the job is built from depends on that.
    void say_what_delays(std::string_view retrying, const std::string& object, const api::Error& error) {
        const bool remembers =
            api::is_true(job_.conditions, api::condition::created) && job_.jobs_status.empty();
        const Obstacle obstacle = obstacle_of(error);
        if (own_job_set(observed_) || remembers || obstacle == Obstacle::passing) return;
        if (!has_lasted(observed_.retry_state, now_)) return;
        const bool server = obstacle == Obstacle::server;
        const api::Condition wanted = {
            .type = std::string(api::condition::created),
            .status = server ? "Unknown" : "False",
            .reason = std::string(server ? retrying : api::reason::permission_denied),
            .message = object + ": " + api::describe(error)};
        const api::Condition* stored = api::find_condition(job_.conditions, wanted.type);
        if (stored && !may_state_again(conclusion_.retry_state, *stored, wanted, now_)) return;
        set(wanted.type, wanted.status, wanted.reason, wanted.message);
        conclusion_.conditions = in_order(std::move(conclusion_.conditions));
        conclusion_.retry_state.stated = now_;
    }

    void taken(const ForeignObject& foreign) {
        not_created(
            api::reason::jobs_creation_failed,
            foreign.object + " exists already and does not belong to this TrainJob" +
                (foreign.leftover ? ", but to an earlier one of this name; it will be collected" : ""));
        if (foreign.leftover) conclusion_.requeue_after = sooner(conclusion_.requeue_after, garbage_backoff);
    }

    void set(std::string_view type, std::string_view status, std::string_view reason, std::string message,
             api::Time since = {}) {
        set_condition(conclusion_.conditions,
                      {.type = std::string(type),
                       .status = std::string(status),
                       .reason = std::string(reason),
                       .message = std::move(message),
                       .last_transition = since,
                       .observed_generation = job_.meta.generation},
                      now_);
    }

    void created() {
        if (options_.created_condition == CreatedCondition::always)
            return set(api::condition::created, "True", api::reason::jobs_creation_succeeded,
                       "Succeeded to create Jobs");
        say_nothing_of_creation();
    }

    void say_nothing_of_creation() {
        std::erase_if(conclusion_.conditions,
                      [](const auto& c) { return c.type == api::condition::created; });
    }

    // Where the errors are over, whatever the job waits for now.
    void forget_trouble() {
        const api::Condition* said = api::find_condition(conclusion_.conditions, api::condition::created);
        if (!said || !is_open(*said)) return;
        own_job_set(observed_) ? created() : say_nothing_of_creation();
    }

    // Neither False, so that no correction comes between the look at the TrainJob and its JobSet, nor True
    // yet.
    void creating() {
        set(api::condition::created, "Unknown", api::reason::jobs_creating, "The JobSet is being created");
        conclusion_.decide_again = true;
    }

    // Retried with backoff, in case that no event tells when it is mended.
    void not_created(std::string_view reason, std::string message) {
        const api::Condition* before = api::find_condition(job_.conditions, api::condition::created);
        // Refused only when it was no trial any more: its own status must not bring the next attempt at once.
        conclusion_.settled = before && before->reason == api::reason::jobs_creating;
        set(api::condition::created, "False", reason, std::move(message));
        requeue_soon();
    }

    void follow_suspend() {
        const bool stored = api::is_true(conclusion_.conditions, api::condition::suspended);
        if (job_.suspend)
            set(api::condition::suspended, "True", api::reason::suspended, "TrainJob is suspended");
        const bool unseen = observed_.first_resume && may_have_been_resumed(observed_);
        if (!job_.suspend && (stored || unseen))
            set(api::condition::suspended, "False", api::reason::resumed, "TrainJob is resumed",
                unseen ? *observed_.first_resume : api::Time());
    }

    // What a crash between creating the JobSet and saying so has left out.
    void settle_created(const Finish& finish) {
        const api::Condition* said = api::find_condition(conclusion_.conditions, api::condition::created);
        const bool unknown = !said || is_open(*said);
        if (finish.from_job_set || (unknown && own_job_set(observed_))) created();
    }

    void follow_counts() {
        if (!knows_job_set_) return;
        conclusion_.jobs_status = jobs_status(observed_);
        conclusion_.restarts = restarts(observed_);
    }

    void follow_job_set() {
        follow_counts();
        follow_generation();
        conclusion_.conditions = in_order(std::move(conclusion_.conditions));
    }

    // Clients wait for conditions that are as new as the spec. Where a generation was never noted, as by
    // older releases, they do not.
    void follow_generation() {
        if (job_.meta.deletion) return;  // that was its last generation
        for (api::Condition& condition : conclusion_.conditions)
            if (is_built_in(condition.type) && condition.observed_generation != 0)
                condition.observed_generation = job_.meta.generation;
    }

    void tell_of_deletion() {
        const auto* failed = std::get_if<WriteFailed>(&outcome_.result);
        if (!failed) {
            conclusion_.events.push_back(normal_event(
                event_reason::job_set_deleted, "The unfinished JobSet of the ended TrainJob is deleted"));
            return;
        }
        if (failed->error.code == api::Errc::not_found) return;
        // Another one by now, or another writer was faster: the next look will tell.
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

    // Errors that no condition tells of.
    void trouble(const std::string& object, const api::Error& error) {
        report_error(conclusion_, observed_.retry_state, object, error, now_);
    }

    const Observed& observed_;
    const api::TrainJob& job_;
    const Outcome& outcome_;
    const api::Time now_;
    const Options& options_;
    bool knows_job_set_ = !may_be_outdated(observed_);  // or there is none
    Conclusion conclusion_;
};

}  // namespace

Conclusion conclude(const Observed& observed, const Decision& decision, const Outcome& outcome, api::Time now,
                    const Options& options) {
    if (!observed.job) return {};
    Concluder concluder(observed, outcome, now, options);
    const auto* unread = std::get_if<ReadFailed>(&outcome.result);
    if (!is_ours(*observed.job)) {
        concluder.conclude_dispatched(unread, decision);
    } else if (unread) {
        concluder.conclude_blindly(*unread, decision);
        concluder.follow_policy_and_times(decision);
    } else {
        std::visit(concluder, decision);
        concluder.follow_policy_and_times(decision);
    }
    const bool goes_on =
        std::holds_alternative<Run>(decision) || std::holds_alternative<StoreTransition>(decision);
    if (!unread && outcome.plugins_unread) concluder.miss(*outcome.plugins_unread);
    if (!unread && outcome.policy_unread && goes_on) concluder.miss(*outcome.policy_unread);
    if (is_ours(*observed.job)) concluder.look_for_stall(decision);
    Conclusion conclusion = std::move(concluder).take();
    if (is_ours(*observed.job)) report_blocked_deletion(conclusion, observed, now);
    return conclusion;
}

Conclusion after_failed_status_write(Conclusion conclusion, const Observed& observed, const api::Error& error,
                                     api::Time now) {
    std::erase_if(conclusion.events, [](const Event& event) { return event.needs_status; });
    conclusion.decide_again = false;
    conclusion.settled = false;
    RetryState before = observed.retry_state;
    if (conclusion.retry_state.warned) before.warned = conclusion.retry_state.warned;
    const std::optional<api::Time> deletion_reported = conclusion.retry_state.deletion_reported;
    // It says nothing of what the reconcile itself has met.
    const std::optional<api::Time> obstructed_since = conclusion.retry_state.obstructed_since;
    const std::string object = observed.job ? name_of("TrainJob", *observed.job) : "TrainJob";
    // When to requeue after the write is of no interest now; a limit still is.
    conclusion.requeue_after.reset();
    if (observed.job)
        conclusion.requeue_after =
            sooner(ahead(time_left(observed, now)), ahead(time_to_live(*observed.job, observed.ttl, now)));
    report_error(conclusion, before, object + " status", error, now);
    conclusion.retry_state.deletion_reported = deletion_reported;
    conclusion.retry_state.obstructed_since = obstructed_since;
    conclusion.retry_state.stall = observed.retry_state.stall;
    return conclusion;
}

}  // namespace lifecycle
