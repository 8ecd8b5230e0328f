#include "lifecycle/reconcile_machine.hpp"

#include <algorithm>
#include <utility>

#include "lifecycle/judge.hpp"
#include "lifecycle/progress_deadline.hpp"
#include "lifecycle/restarts.hpp"
#include "lifecycle/service.hpp"
#include "lifecycle/stall.hpp"

namespace lifecycle {
namespace {

std::optional<api::Error> error_of(const Outcome& outcome) {
    if (const auto* failed = std::get_if<ReadFailed>(&outcome.result)) return failed->error;
    if (const auto* failed = std::get_if<WriteFailed>(&outcome.result)) return failed->error;
    if (const auto* failed = std::get_if<BuildFailed>(&outcome.result)) return failed->error;
    if (outcome.policy_unread) return outcome.policy_unread->error;
    if (outcome.availability_unread) return outcome.availability_unread->error;
    return std::nullopt;
}

// A JobSet that was created suspended, and whose spec has not changed since, has never had a Pod.
bool has_never_run(const Observed& observed) {
    const api::JobSet* job_set = own_job_set(observed);
    return job_set && job_set->suspend && job_set->meta.generation == 1;
}

// Returns what a look is for. Jobs are listed only if there may be Pods of before: a list that must be the
// latest may take a tenth of a second.
LookFor reason_for_look(const Decision& decision, const Observed& observed) {
    const LookFor reason = look_for(decision);
    return has_never_run(observed) ? std::min(reason, LookFor::change) : reason;
}

// Keeps a TrainJob that has expired by the caches alone. The caches may never have had the runtime that keeps
// it, and then do not show its deletion, so it is requeued.
void hold(const api::TrainJob& job, Reconciled& result) {
    constexpr std::chrono::seconds recheck = std::chrono::minutes(5);
    result.measurements.held = job.is_multikueue_copy ? TtlHeld::multikueue : TtlHeld::live;
    if (!job.is_multikueue_copy)
        result.requeue_after = std::min(result.requeue_after.value_or(recheck), recheck);
}

}  // namespace

ReconcileMachine::ReconcileMachine(Observed& observed, std::optional<ReadFailed> policy_unread,
                                   Options options)
    : observed_(observed), policy_unread_(std::move(policy_unread)), options_(options) {}

std::optional<ReconcileMachine::Action> ReconcileMachine::next(api::Time now, bool is_certain) {
    if (!observed_.job) {
        result_ = {.gone = true};
        return std::nullopt;
    }
    switch (state_) {
        case State::deciding: return decide_next(now, is_certain);
        case State::looking: return look(Live::all);
        case State::acted:
            if (!looked_at_warnings_ && wants_warnings(observed_, decision_, outcome_, now))
                return LookAtWarnings{};
            if (!looked_at_placement_ && wants_placement(now)) {
                if (!observed_.is_live) return look(Live::all);
                return LookAtPlacement{};
            }
            if (lifecycle::wants_live_view(observed_, decision_, outcome_, now)) return look(Live::all);
            [[fallthrough]];
        case State::concluding:
            if (!outcome_.service_look && wants_service(observed_, decision_, outcome_, now))
                return LookAtService{};
            if (const LookAtFailure look = {wants_failed_pods(decision_), wants_failure_policy(decision_)};
                !looked_at_failure_ && (look.pods || look.policy))
                return look;
            return conclude_next(now);
        case State::reporting: return report(now);
        case State::reported: break;
    }
    if (decides_again()) return decide_next(now, is_certain);
    if (expires_by_caches_ && !expires()) hold(*observed_.job, result_);
    return std::nullopt;
}

std::optional<ReconcileMachine::Action> ReconcileMachine::decide_next(api::Time now, bool is_certain) {
    const bool knows_lease = observed_.availability || lease_unread_;
    if (!knows_lease && wants_availability(observed_, now)) return LookAtLease{};
    observed_.clock_is_uncertain = !is_certain;
    decision_ = decide(observed_, now);
    decided_ = now;
    outcome_ = {};
    outcome_.availability_unread = lease_unread_;
    looked_at_warnings_ = false;
    looked_at_failure_ = false;
    looked_at_placement_ = false;
    expires_by_caches_ = expires_by_caches_ || (expires() && live_ == Live::nothing);
    const bool is_late = exceeds_progress_deadline(observed_, now);
    const Live needed = std::max(needs_live(decision_, observed_), is_late ? Live::all : Live::nothing);
    const bool lacks_jobs = reason_for_look(decision_, observed_) == LookFor::resume && !observed_.stopping;
    if (needed > live_ || lacks_jobs) return look(needed);
    return Act{decision_};
}

std::optional<ReconcileMachine::Action> ReconcileMachine::look(Live what) {
    looks_for_ = what;
    return Look{what, reason_for_look(decision_, observed_)};
}

std::optional<ReconcileMachine::Action> ReconcileMachine::conclude_next(api::Time now) {
    result_.error = error_of(outcome_);
    result_.concluded = now;
    conclusion_ = conclude(observed_, decision_, outcome_, now, options_);
    is_stored_ = false;
    answer_.reset();
    state_ = State::reporting;
    if (!conclusion_.status_changed) return report(now);
    return WriteStatus{conclusion_};
}

std::optional<ReconcileMachine::Action> ReconcileMachine::report(api::Time now) {
    const Measurements measured = measurements(observed_, decision_, outcome_, conclusion_, is_stored_, now);
    result_.measurements = joined(result_.measurements, measured);
    result_.requeue_after = conclusion_.requeue_after;
    result_.retry_state = conclusion_.retry_state;
    result_.own_writes_need_no_reconcile = conclusion_.own_writes_need_no_reconcile;
    state_ = State::reported;
    return Report{conclusion_, outcome_.job_set_written ? std::get_if<Run>(&decision_) : nullptr};
}

// Returns whether a stored transition asks for another decision, about the TrainJob as it was stored.
bool ReconcileMachine::decides_again() {
    if (!conclusion_.decide_again || !answer_) return false;
    // The CRD of another release may have no field for the restarts; to store them again would not help.
    answer_->restarts = conclusion_.restarts;
    observed_.job = *std::exchange(answer_, std::nullopt);
    observed_.job_is_answer = true;
    state_ = State::deciding;
    return true;
}

void ReconcileMachine::found_lease(Availability availability) { observed_.availability = availability; }

void ReconcileMachine::lease_unread(ReadFailed why) { lease_unread_ = std::move(why); }

void ReconcileMachine::acted(Outcome outcome, bool wants_live_view) {
    outcome_ = std::move(outcome);
    outcome_.availability_unread = lease_unread_;
    // An unknown TTL delays only the deletion: cleaning up must not wait for it.
    outcome_.policy_unread = policy_unread_;
    state_ = wants_live_view ? State::looking : State::acted;
}

void ReconcileMachine::explained(std::optional<std::string> explanation) {
    outcome_.explanation = std::move(explanation);
    looked_at_warnings_ = true;
}

void ReconcileMachine::looked(Observed observed, std::optional<ReadFailed> policy_unread) {
    observed.retry_state = observed_.retry_state;
    observed.objects_of_run = observed_.objects_of_run;
    observed.objects_of_policies = observed_.objects_of_policies;
    observed.progress_watch = observed_.progress_watch;
    observed.availability = observed_.availability;
    observed_ = std::move(observed);
    policy_unread_ = std::move(policy_unread);
    live_ = looks_for_;
    state_ = State::deciding;
}

void ReconcileMachine::look_failed(api::Error why) {
    outcome_.result = ReadFailed{"TrainJob " + to_string(observed_.job->meta.key()), std::move(why)};
    looked_at_failure_ = true;  // it is not known any more whether the job ends
    state_ = State::concluding;
}

void ReconcileMachine::found_service(ServiceLook found) { outcome_.service_look = found; }

void ReconcileMachine::found_failure(std::optional<FailedPod> first,
                                     const std::optional<api::FailurePolicy>& policy) {
    looked_at_failure_ = true;
    if (first) outcome_.failure = first->failure;
    auto& finish = std::get<Finish>(decision_);
    if (finish.judges == Judged::nothing || !policy) return;
    const Judgement judgement = judge_attempt(finish.judges, first ? &*first : nullptr, *policy);
    outcome_.max_restarts = policy->max_restarts;
    note(judgement);
    if (judgement.restarts()) return;
    finish.condition.reason = judgement.reason;
    finish.condition.message = describe_end(judgement, restarts(observed_));
}

// Leaves the entry of the status in the outcome.
Judgement ReconcileMachine::judge_attempt(Judged what, const FailedPod* first,
                                          const api::FailurePolicy& policy) {
    const api::JobSet& job_set = *own_job_set(observed_);
    const api::Restarts so_far = restarts(observed_);
    const api::Attempt& attempt = observed_.job->attempt;
    if (what == Judged::hang) {
        outcome_.failure = hung_attempt(std::get<Finish>(decision_).condition.message, decided_);
        return judge_hang(policy, so_far, attempt, last_progress(observed_));
    }
    if (!outcome_.failure) outcome_.failure = failure_without_pod(job_set);
    return judge(policy, job_set, first, so_far, attempt);
}

void ReconcileMachine::note(const Judgement& judgement) {
    outcome_.failure->decision = judgement.decision;
    outcome_.failure->rule = judgement.rule;
    outcome_.failure->excludes_node = judgement.excludes_node;
    if (judgement.restarts()) decision_ = Restart{judgement};
}

bool ReconcileMachine::wants_placement(api::Time now) const {
    const auto* run = std::get_if<Run>(&decision_);
    if (!run || run->job_set != JobSetAction::leave || !std::holds_alternative<Done>(outcome_.result))
        return false;
    const auto look = next_look_at_placement(observed_);
    return look && now >= *look;
}

void ReconcileMachine::found_placement(std::optional<api::Time> waits_since, api::Time now) {
    looked_at_placement_ = true;
    outcome_.waits_for_node_since = waits_since;
    if (!waits_since || now < *waits_since + exclusion_starves) return;
    outcome_.failure = starved_attempt(*own_job_set(observed_), now);
    note(judge_starved(observed_.job->attempt));
}

bool ReconcileMachine::failed_pods_unread(const api::Error& why, api::Time now) {
    if (!waits_for_failed_pods(why, observed_.retry_state, now)) return false;
    failure_policy_unread({"failed Pods of TrainJob " + to_string(observed_.job->meta.key()), why});
    return true;
}

void ReconcileMachine::failure_policy_unread(ReadFailed why) {
    looked_at_failure_ = true;
    outcome_.result = std::move(why);
}

void ReconcileMachine::stored(std::optional<api::TrainJob> answer) {
    is_stored_ = true;
    answer_ = std::move(answer);
}

void ReconcileMachine::not_stored(api::Error why, api::Time now) {
    result_.error = why;
    conclusion_ = after_failed_status_write(std::move(conclusion_), observed_, why, now);
}

}  // namespace lifecycle
