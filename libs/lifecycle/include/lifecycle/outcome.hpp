#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/condition.hpp"
#include "api/error.hpp"
#include "api/failure.hpp"
#include "api/run_policy.hpp"
#include "lifecycle/event.hpp"
#include "lifecycle/observed.hpp"

namespace lifecycle {

/// Everything that the decision asked for has been done; also if nothing was asked for.
struct Done {};

/// Something that had to be read could not be read, so the reconcile ended before acting or half-way; also
/// when the live view that a decision needs could not be had. A 404 is an answer, not a failure.
struct ReadFailed {
    std::string object = {};  ///< "ConfigMap default/job-runtime-snapshot"
    api::Error error = {};
};

/// The objects cannot be built from this TrainJob and this runtime, the runtime does not exist, or the
/// snapshot is unusable.
struct BuildFailed {
    api::Error error = {};
};

enum class Write { apply, suspend, remove };

/// A write failed; it was the last one of the reconcile. Where something is to be created and is there
/// already, the error is Errc::conflict.
struct WriteFailed {
    std::string object = {};  ///< "JobSet default/job"
    api::Error error = {};
    Write write = Write::apply;  ///< only a refused `apply` is a verdict on the object
};

/// An object whose name the TrainJob needs belongs to another owner; it was not touched.
struct ForeignObject {
    std::string object = {};
    /// The owner is an earlier TrainJob of the same name: the object is collected soon, and no watch shows
    /// that.
    bool leftover = false;
};

/// Returns "JobSet default/job exists already and does not belong to this TrainJob".
std::string describe(const ForeignObject& foreign);

/// The change of the suspended JobSet has to wait until none of its pods is active (recreate.hpp,
/// withdrawal.hpp).
struct Waiting {
    std::string why = {};  ///< why an apply alone does not make the change
};

/// The suspended JobSet could not take the change and has been deleted, to be built anew (recreate.hpp). To
/// be done on a live view only.
struct JobSetRemoved {
    std::string why = {};
};

/// Something was withdrawn from the suspended JobSet, and its Jobs have not been made anew yet
/// (withdrawal.hpp).
struct JobsReplaced {
    std::string why = {};
    bool any_removed = false;    ///< in this reconcile; to be done on a live view only
    std::string waits_for = {};  ///< if none was removed: what the new Jobs wait for
};

/// The JobSet can be created, but its TrainJob may still be corrected. First the status has to say that
/// nothing can be corrected any more (api::may_be_corrected()), with the resourceVersion of the TrainJob that
/// the JobSet is built from. Then decide again.
struct ReadyToCreate {};

/// Objects whose names the JobSet needs are being deleted, such as volume claims; it is created or resumed
/// once they are gone.
struct WaitingForDeletion {
    std::vector<std::string> objects = {};  ///< "PersistentVolumeClaim default/data-job"
    std::string besides = {};               ///< what else will stand in the way, as a sentence
};

/// The cluster lacks an object's kind, or drops a part of it, so that the Pods would not be scheduled as the
/// runtime says. It is not there.
struct Unavailable {
    std::string object = {};  ///< "PodGroup default/job"
    std::string why = {};     ///< "needs ..."
};

/// The JobSet goes on as it was built, although its TrainJob has been corrected (Run::verifies) or resized
/// (Run::resizes) since.
struct JobSetKept {
    std::string why = {};      ///< "a new one would delete its volume claims with what they hold"
    bool is_for_good = false;  ///< else try again later, since no change may cause it
};

/// How acting on a decision went: its last step, and what happened before.
struct Outcome {
    std::variant<Done, ReadFailed, BuildFailed, WriteFailed, ForeignObject, Waiting, JobSetRemoved,
                 JobsReplaced, ReadyToCreate, WaitingForDeletion, Unavailable>
        result = {};
    std::optional<ReadFailed> policy_unread = {};        ///< the policy that the job began with, or the TTL
    std::optional<ReadFailed> availability_unread = {};  ///< what progress deadlines depend on
    /// explanation() of the Warnings of the namespace, where wants_warnings(). Empty: they are still being
    /// read, for another job.
    std::optional<std::string> explanation = {};
    std::optional<ServiceLook> service_look = {};  ///< where wants_service()
    /// When the oldest Pod was created that avoids nodes and has none.
    std::optional<api::Time> waits_for_node_since = {};
    std::optional<api::Failure> failure = {};       ///< of the attempt or job that has failed: the first one
    std::optional<std::int64_t> max_restarts = {};  ///< of the policy, where it has judged
    /// The run policy of the runtime that the job is built from, once its snapshot is stored.
    std::optional<api::RunPolicy> run_policy = {};
    std::string runtime_digest = {};  ///< of the same runtime
    bool job_set_written = false;     ///< created, changed or resumed by an apply
    /// With type, status, reason and message. One without a status is removed.
    std::vector<api::Condition> plugin_conditions = {};
    std::vector<Event> events = {};  ///< of the build; sent when the JobSet is written
    /// Objects that are gone although the Pods of the JobSet have mounted them. They are not made anew beside
    /// running Pods.
    std::vector<std::string> lost = {};
    std::optional<JobSetKept> kept = {};
};

}  // namespace lifecycle
