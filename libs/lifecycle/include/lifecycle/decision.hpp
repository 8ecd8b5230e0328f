#pragma once
#include <string>
#include <variant>

#include "api/time.hpp"
#include "lifecycle/judgement.hpp"
#include "lifecycle/observed.hpp"
#include "lifecycle/outcome.hpp"
#include "lifecycle/snapshot.hpp"

namespace lifecycle {

/// The TrainJob is gone or managed by others: write nothing, not even status.
struct Ignore {
    bool operator==(const Ignore&) const = default;
};

/// `spec.suspend` and the stored `Suspended` differ, or the status lacks restarts of a JobSet that may be
/// replaced now. No other write: conclude(), write the status, take the server's answer as the job and decide
/// again.
struct StoreTransition {
    bool operator==(const StoreTransition&) const = default;
};

/// What the failure policy is asked about an attempt that ends its job otherwise (judge.hpp).
enum class Judged {
    nothing,  ///< it is no attempt, or the job gets no other one
    failure,  ///< its failed Pods
    hang      ///< that it has made no progress for too long: it runs
};

/// The job ends. No write but the status: conclude() has it.
struct Finish {
    api::Condition condition = {};  ///< `Complete` or `Failed`; last_transition is when it ended
    std::string details = {};       ///< what the event says besides the condition's message
    bool settle = true;             ///< also bring `Suspended` up to date, and end what is over in `Created`
    bool from_job_set = false;      ///< else this controller ends the job
    Judged judges = Judged::nothing;  ///< by the failure policy, the job may go on

    bool operator==(const Finish&) const = default;
};

/// An attempt has failed or hangs, and another one follows. No write but the status: conclude() has it.
/// decide() says Finish, and the judgement makes it this.
struct Restart {
    Judgement judgement = {};

    bool operator==(const Restart&) const = default;
};

/// What becomes of the unfinished JobSet of a job that has ended. JobSet does nothing about a JobSet that is
/// being deleted, so a finalizer of another tool would let its Pods run on: it is suspended first.
enum class EndOfJobSet {
    leave,    ///< there is none, it has finished, or it is being deleted
    suspend,  ///< merge patch, with its uid and resourceVersion
    wait,     ///< its Pods are being stopped
    remove    ///< with its uid and resourceVersion, in the background
};

/// The job has ended. After its JobSet, its Observed::objects_of_run are deleted: they hold devices for Pods
/// that will not come.
struct CleanUp {
    EndOfJobSet job_set = EndOfJobSet::leave;

    bool operator==(const CleanUp&) const = default;
};

/// The job has ended and its TTL has passed: delete the TrainJob, foreground, with its UID and
/// resourceVersion as preconditions. No status write.
struct Expire {
    bool operator==(const Expire&) const = default;
};

/// What a Run does with the JobSet.
enum class JobSetAction {
    leave,               ///< it runs, is being suspended, its pods still end, or it is_left_to_queue(): no
                         ///< apply; the other objects are built for its number of nodes
    wait_until_gone,     ///< it is being deleted; once it is gone it is built again
    create,              ///< there is none: an apply that only creates
    update,              ///< suspended and stays so, no pod active: apply with its uid and resourceVersion
    resume,              ///< as `update`; the built object says `suspend: false`
    wait_until_stopped,  ///< to be resumed, but Pods of before its suspension still end: nothing is written
    back_off,            ///< it is too early for the next attempt, or the job is suspended and its attempt
                         ///< has failed: nothing is written, and Observed::objects_of_run are deleted
    retire,              ///< of an attempt that was judged: deleted in the foreground, with its uid and
                         ///< resourceVersion; then the next attempt is created
    refuse               ///< it has another owner: nothing is built
};

/// The job lives.
struct Run {
    /// Before anything else, and whatever comes of the rest: merge patch of `spec.suspend: true` alone, and
    /// of a note about it in a JobSet with a queue of its own, with the JobSet's uid and resourceVersion.
    bool suspend_job_set = false;
    /// Build, then apply the objects in their order, the JobSet as `job_set` says. False: nothing is built or
    /// applied.
    bool build = true;
    JobSetAction job_set = JobSetAction::leave;
    RuntimeSource runtime = RuntimeSource::live;
    /// The JobSet disappeared while its Pods worked: its creation is reported as a Warning.
    bool rebuilds = false;
    /// Another controller has created the JobSet, which runs: store the live runtime as the snapshot if there
    /// is none, so that later changes of the runtime do not reach the job.
    bool adopts = false;
    /// The JobSet is may_be_outdated(): before the objects are written, delete it if it was built from
    /// something else than the present job and runtime, unless a new one would lose something.
    bool verifies = false;
    /// The JobSet runs and has_former_size(): after all other writes, suspend it so that it can be made anew,
    /// unless a new one would lose something or be refused.
    bool resizes = false;
    /// `resizes`, and it has run for so long that it is kept.
    bool is_late = false;

    bool operator==(const Run&) const = default;
};

using Decision = std::variant<Ignore, StoreTransition, Finish, Restart, CleanUp, Expire, Run>;

/// Returns when the JobSet of a job that has ended is deleted even if it could not be suspended, or its Pods
/// are still active: half a minute after the end. Not one with a finalizer, which would keep it and its Pods.
api::Time end_of_stop(const api::TrainJob& ended);

/// Returns what this reconcile does: docs/design/lifecycle.md#the-order-of-decisions. The same input gives
/// the same decision, so a restart changes nothing. `now` is a time of the API server's clock; if `observed`
/// was read live, no later than that clock showed in the answers.
Decision decide(const Observed& observed, api::Time now);

/// Which objects of a view are read from the API server instead of the caches. Each value includes those
/// before it.
enum class Live {
    nothing,
    job_and_runtime,  ///< the JobSet is absent in the caches
    all,              ///< the JobSet as well
    in_order          ///< all, the JobSet after the TrainJob
};

/// What a look is for. Each value includes those before it.
enum class LookFor {
    decision,
    change,  ///< the JobSet is read as a whole
    resume   ///< its Jobs are read: Observed::stopping
};

/// Returns what to read from the API server before acting, and to decide on again, since the decision does
/// something that cannot be undone. The runtime decides about the TTL and about what is built; when it cannot
/// be read, everything else goes on without it. The JobSet is not read before the first one is created: that
/// write, like that of the snapshot before it, can only create, so the API server itself says whether the
/// object exists, and nothing can come between a read and the write. `observed`: what the decision was based
/// on; see reports_no_active_pods().
Live needs_live(const Decision& decision, const Observed& observed);

/// Returns what a look before this decision is for.
LookFor look_for(const Decision& decision);

/// Returns whether the outcome, reached without a live view of the JobSet, may come from a JobSet that the
/// caches do not show yet: then read everything, and decide again.
bool may_come_of_unseen_job_set(const Outcome& outcome);

}  // namespace lifecycle
