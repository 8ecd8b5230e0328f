#include <algorithm>

#include "lifecycle/deadline.hpp"
#include "lifecycle/decision.hpp"
#include "lifecycle/jobs_status.hpp"
#include "lifecycle/judge.hpp"
#include "lifecycle/progress_deadline.hpp"
#include "lifecycle/refusal.hpp"
#include "lifecycle/restarts.hpp"
#include "lifecycle/ttl.hpp"

namespace lifecycle {
namespace {

bool has_expired(const Observed& observed, api::Time now) {
    return !observed.clock_is_uncertain &&
           time_to_live(*observed.job, observed.ttl, now) == std::chrono::seconds(0);
}

// Step 2. MultiKueue writes the status of such a TrainJob, but never deletes it.
Decision decide_dispatched(const Observed& observed, api::Time now) {
    if (has_expired(observed, now)) return Expire{};
    return Ignore{};
}

EndOfJobSet end_of_job_set(const Observed& observed, api::Time now) {
    const api::JobSet* job_set = own_job_set(observed);
    // A second DELETE could change the propagation that the first one chose.
    if (!job_set || job_set->finished || job_set->meta.deletion) return EndOfJobSet::leave;
    // Kueue would resume one that is in its own queue.
    if (is_in_own_queue(*observed.job, job_set->queue)) return EndOfJobSet::remove;
    // Where a finalizer keeps it, a deletion stops nothing, and would keep JobSet from stopping the Pods.
    if (now >= end_of_stop(*observed.job) && job_set->meta.finalizers.empty()) return EndOfJobSet::remove;
    if (!job_set->suspend) return EndOfJobSet::suspend;
    return job_set->any_active() ? EndOfJobSet::wait : EndOfJobSet::remove;
}

// Steps 3 and 4 of docs/design/lifecycle.md#the-order-of-decisions. A TTL delete removes the JobSet by its
// cascade, so a JobSet that cannot be deleted does not delay it.
Decision decide_ended(const Observed& observed, api::Time now) {
    if (has_expired(observed, now)) return Expire{};
    return CleanUp{end_of_job_set(observed, now)};
}

// Step 5. It comes before the deadlines, steps 8 and 9: finished work is not thrown away. A TrainJob that is
// being deleted gets no other attempt.
std::optional<Finish> from_job_set(const Observed& observed) {
    const api::JobSet* job_set = own_job_set(observed);
    if (!job_set || !job_set->finished || is_judged(observed)) return std::nullopt;
    Finish finish{.condition = *job_set->finished, .from_job_set = true};
    // By another node's clock, which is behind. The TTL must not count from there.
    if (finish.condition.last_transition < job_set->meta.creation) finish.condition.last_transition = {};
    finish.condition.type =
        job_set->finished->type == "Completed" ? api::condition::complete : api::condition::failed;
    const bool judges = job_set->is_attempt && finish.condition.type == api::condition::failed &&
                        !observed.job->meta.deletion;
    if (judges) finish.judges = Judged::failure;
    return finish;
}

Finish fail(std::string_view reason, std::string message, bool settle) {
    return {.condition = {.type = std::string(api::condition::failed),
                          .status = "True",
                          .reason = std::string(reason),
                          .message = std::move(message)},
            .settle = settle};
}

// The message is the one that Kubeflow's API names, for programs that compare it.
Finish exceeded(const ActiveDeadline& limit, const api::TrainJob& job) {
    Finish finish = fail(api::reason::deadline_exceeded, "TrainJob exceeded its active deadline", true);
    finish.details = " of " + std::to_string(limit.seconds) + "s: " + source_of(limit, job);
    return finish;
}

// Step 6: the deadline counts from the first resume.
bool must_store_first_resume(const Observed& observed) {
    return observed.first_resume && !own_job_set(observed) && may_have_been_resumed(observed);
}

// Step 9. A restart needs something that runs, and a TrainJob that is neither suspended nor being deleted.
// Without attempts there is nothing to restart by.
std::optional<Finish> overdue(const Observed& observed, api::Time now) {
    if (!exceeds_progress_deadline(observed, now)) return std::nullopt;
    const api::ProgressAction action = progress_deadlines(observed)->action;
    if (action == api::ProgressAction::warn) return std::nullopt;
    Finish finish = fail(api::reason::progress_deadline_exceeded, overdue_text(observed, now), true);
    if (action == api::ProgressAction::fail) return finish;
    const api::JobSet* job_set = own_job_set(observed);
    if (!job_set || job_set->suspend || job_set->meta.deletion || observed.job->suspend) return std::nullopt;
    if (job_set->is_attempt && !observed.job->meta.deletion) finish.judges = Judged::hang;
    return finish;
}

// Steps 7 to 9.
std::optional<Finish> controller_failure(const Observed& observed, api::Time now) {
    const api::TrainJob& job = *observed.job;
    const api::RuntimeRef& ref = job.runtime_ref;
    if (!api::is_supported(ref))
        return fail(
            api::reason::runtime_not_supported,
            "runtimeRef names a " + ref.kind + " of \"" + ref.api_group + "\", which is not supported",
            false);
    const auto limit = active_deadline(observed);
    if (limit && !observed.clock_is_uncertain && time_left(observed, now) == std::chrono::seconds(0))
        return exceeded(*limit, job);
    return overdue(observed, now);
}

// Step 10.
bool must_store_transition(const Observed& observed) {
    const api::TrainJob& job = *observed.job;
    const bool stored = api::is_true(job.conditions, api::condition::suspended);
    if (job.suspend || !stored || !job.meta.deletion) return job.suspend != stored;
    // A job that is being deleted is not resumed. But if its JobSet runs, the status must say so: the
    // deadline counts only then.
    const api::JobSet* job_set = own_job_set(observed);
    return job_set && !job_set->suspend;
}

// Step 10. A suspended JobSet may be replaced, and the new one gets the restarts of the status.
bool must_store_restarts(const Observed& observed) {
    const api::JobSet* job_set = own_job_set(observed);
    return job_set && job_set->suspend && !may_be_outdated(observed) && !is_judged(observed) &&
           job_set->restarts != observed.job->restarts;
}

// A delayed apply may resume the JobSet with the former number of nodes.
bool runs_with_former_size(const Observed& observed) {
    return has_former_size(observed) && !is_judged(observed) && !own_job_set(observed)->suspend &&
           !observed.job->suspend && !own_job_set(observed)->meta.deletion && !may_be_outdated(observed);
}

// By an uncertain clock, too: an attempt that begins too early does no harm.
bool is_too_early(const api::Attempt& attempt, api::Time now) {
    constexpr std::chrono::hours longest_delay{24};
    return attempt.next && now < *attempt.next && *attempt.next <= now + longest_delay;
}

// One that has not failed is not left to run.
JobSetAction step_between_attempts(const api::TrainJob& job, const api::JobSet& job_set, api::Time now) {
    const bool waits = job_set.finished && (job.suspend || is_too_early(job.attempt, now));
    return waits ? JobSetAction::back_off : JobSetAction::retire;
}

// The JobSet of an attempt that hung goes before the back-off is over.
JobSetAction step_without_job_set(const api::TrainJob& job, api::Time now) {
    const bool is_between = api::is_true(job.conditions, api::condition::restarting);
    return is_between && is_too_early(job.attempt, now) ? JobSetAction::back_off : JobSetAction::create;
}

JobSetAction job_set_step(const Observed& observed, bool suspend_first, api::Time now) {
    if (has_foreign_job_set(observed)) return JobSetAction::refuse;
    const api::JobSet* job_set = own_job_set(observed);
    if (!job_set) return step_without_job_set(*observed.job, now);
    if (job_set->meta.deletion) return JobSetAction::wait_until_gone;
    if (is_judged(observed)) return step_between_attempts(*observed.job, *job_set, now);
    if (observed.job->suspend) {
        const bool waits = suspend_first || !job_set->suspend || job_set->any_active();
        return waits ? JobSetAction::leave : JobSetAction::update;
    }
    if (!job_set->suspend || is_left_to_queue(observed)) return JobSetAction::leave;
    const bool stops = observed.stopping && observed.stopping->jobs > 0;
    return stops ? JobSetAction::wait_until_stopped : JobSetAction::resume;
}

// Returns whether the JobSet disappeared while its Pods worked. If the status shows no Pod since the job was
// resumed, the JobSet was still suspended, and mostly went because a change recreates it.
bool has_lost_work(const api::TrainJob& job) {
    const bool was_suspended = api::find_condition(job.conditions, api::condition::suspended) != nullptr;
    const bool at_work =
        std::any_of(job.jobs_status.begin(), job.jobs_status.end(), [](const api::JobStatus& each) {
            return each.active + each.ready + each.succeeded + each.failed > 0;
        });
    return had_job_set(job) && (at_work || !was_suspended);
}

// A new JobSet would throw away what the Pods have computed since their last checkpoint.
bool has_run_for_long(const Observed& observed, api::Time now) {
    constexpr std::chrono::minutes long_time{10};
    const auto& jobs = own_job_set(observed)->replicated_jobs;
    const bool has_run = std::any_of(jobs.begin(), jobs.end(), [](const api::JobStatus& each) {
        return each.ready + each.succeeded + each.failed > 0;
    });
    return has_run && now - start_of_run(observed) > long_time;
}

Run run(const Observed& observed, api::Time now) {
    const api::JobSet* job_set = own_job_set(observed);
    const bool suspend_first = job_set && observed.job->suspend && !job_set->suspend &&
                               !is_left_to_queue(observed) && !job_set->finished;
    // Nobody judges it again: what hung must not hold its nodes for as long as a finalizer holds the
    // TrainJob.
    const bool still_hangs = job_set && is_judged(observed) && !job_set->finished && !job_set->suspend;
    if (observed.job->meta.deletion)
        return {.suspend_job_set = suspend_first || still_hangs,
                .build = false,
                .runtime = runtime_source(observed)};
    const JobSetAction step = job_set_step(observed, suspend_first, now);
    const bool resizes = runs_with_former_size(observed);
    const bool is_between_attempts = step == JobSetAction::back_off || step == JobSetAction::retire;
    const bool is_next_attempt = api::is_true(observed.job->conditions, api::condition::restarting);
    return {.suspend_job_set = suspend_first,
            .build = step != JobSetAction::refuse && !is_between_attempts,
            .job_set = step,
            .runtime = runtime_source(observed),
            .rebuilds = step == JobSetAction::create && !observed.job->suspend && !is_next_attempt &&
                        has_lost_work(*observed.job),
            .adopts = step == JobSetAction::leave && !observed.job->suspend && !job_set->applied_here,
            .verifies = step == JobSetAction::leave && may_be_outdated(observed),
            .resizes = resizes,
            .is_late = resizes && has_run_for_long(observed, now)};
}

Live all_if(bool needed) { return needed ? Live::all : Live::nothing; }

struct NeedsLive {
    const Observed& observed;

    Live operator()(const Ignore&) const { return Live::nothing; }
    // The write carries the resourceVersion that the decision was based on. Whether its status may say that
    // no pods are active: see reports_no_active_pods().
    Live operator()(const StoreTransition&) const { return Live::nothing; }
    // A finished JobSet stays finished; whether another one may end the job depends on the latest view, and
    // so does a judgement, which is made once.
    Live operator()(const Finish& finish) const {
        return all_if(!finish.from_job_set || finish.judges != Judged::nothing);
    }
    // Comes of a Finish only.
    Live operator()(const Restart&) const { return Live::nothing; }
    Live operator()(const CleanUp& clean_up) const {
        return all_if(clean_up.job_set == EndOfJobSet::suspend || clean_up.job_set == EndOfJobSet::remove);
    }
    Live operator()(const Expire&) const { return Live::all; }
    Live operator()(const Run& run) const {
        switch (run.job_set) {
            // A job that is built from the live runtime has never had a JobSet.
            case JobSetAction::create:
                return run.runtime == RuntimeSource::live ? Live::job_and_runtime : Live::all;
            case JobSetAction::resume:
            case JobSetAction::wait_until_stopped:
            case JobSetAction::retire:
            case JobSetAction::refuse: return Live::all;
            case JobSetAction::leave:
            case JobSetAction::update:
            case JobSetAction::back_off:
            case JobSetAction::wait_until_gone:
                return all_if(suspends_unseen(run) || run.verifies || run.resizes);
        }
        return Live::all;
    }

private:
    // The API server has just answered with the TrainJob that says so, and the suspension carries the version
    // of the JobSet: a look would show nothing else.
    bool suspends_unseen(const Run& run) const { return run.suspend_job_set && !observed.job_is_answer; }
};

struct MayComeOfUnseenJobSet {
    // A failed read shows nothing about a JobSet, and an immediate retry would fail too.
    bool operator()(const ReadFailed&) const { return false; }
    bool operator()(const WriteFailed& failed) const {
        return failed.error.code == api::Errc::conflict || is_rejection(failed.error);
    }
    bool operator()(const BuildFailed&) const { return true; }
    bool operator()(const ForeignObject&) const { return true; }
    // What is being deleted may belong to that JobSet.
    bool operator()(const WaitingForDeletion&) const { return true; }
    bool operator()(const auto&) const { return false; }
};

}  // namespace

api::Time end_of_stop(const api::TrainJob& ended) {
    return api::terminal_condition(ended)->last_transition + std::chrono::seconds(30);
}

Decision decide(const Observed& observed, api::Time now) {
    if (!observed.job) return Ignore{};
    if (!api::is_managed_here(*observed.job)) return decide_dispatched(observed, now);
    if (api::terminal_condition(*observed.job)) return decide_ended(observed, now);
    if (auto finish = from_job_set(observed)) return *finish;
    if (must_store_first_resume(observed)) return StoreTransition{};
    if (auto finish = controller_failure(observed, now)) return *finish;
    if (must_store_transition(observed)) return StoreTransition{};
    if (must_store_restarts(observed)) return StoreTransition{};
    return run(observed, now);
}

Live needs_live(const Decision& decision, const Observed& observed) {
    const bool writes = !std::holds_alternative<Ignore>(decision);
    // The status is newer than an older JobSet, and may know better. A write of the status fails if the
    // TrainJob has changed since it was read, so a JobSet that was read later says how it is.
    if (writes && (reports_no_active_pods(observed) || takes_back_restarts(observed))) return Live::in_order;
    if (writes && observed.is_abridged) return Live::all;
    return std::visit(NeedsLive{observed}, decision);
}

LookFor look_for(const Decision& decision) {
    const auto* run = std::get_if<Run>(&decision);
    if (!run) return LookFor::decision;
    if (run->job_set == JobSetAction::resume) return LookFor::resume;
    const bool changes = run->job_set == JobSetAction::update || run->verifies || run->resizes;
    return changes ? LookFor::change : LookFor::decision;
}

bool may_come_of_unseen_job_set(const Outcome& outcome) {
    return std::visit(MayComeOfUnseenJobSet(), outcome.result);
}

}  // namespace lifecycle
