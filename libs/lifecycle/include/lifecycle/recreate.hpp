#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "api/error.hpp"
#include "api/job_set.hpp"
#include "api/json.hpp"
#include "lifecycle/event.hpp"

namespace lifecycle {

/// A change of a suspended JobSet of this controller that the API server refuses, since an immutable field
/// would have to change. Only a new JobSet can have the change.
struct RefusedChange {
    bool any_active = false;      ///< pods of the JobSet are still active
    bool has_run = false;         ///< may_have_run()
    bool deletes_claims = false;  ///< deletes_volume_claims()
    bool has_finished = false;    ///< has_finished_jobs()
};

/// Reads these properties of the live JobSet, with its managedFields.
RefusedChange refused_change(const api::Json& live);

enum class Recreation {
    wait,          ///< until no pod is active
    recreate,      ///< delete it (UID precondition, foreground); the next reconcile builds it anew
    loses_claims,  ///< keep it: a new one would delete the checkpoints of a job that has run
    loses_work     ///< keep it: Jobs that have finished would run again
};

/// Returns what to do with the JobSet.
Recreation recreation(const RefusedChange& change);
/// Returns whether the JobSet stays as it is, since a new one would lose something.
inline bool loses_something(Recreation verdict) {
    return verdict == Recreation::loses_claims || verdict == Recreation::loses_work;
}

/// Returns whether a JobSet that another controller has applied keeps its immutable fields as that controller
/// has built them, since a new JobSet would lose something. From the first apply of this controller on, they
/// count as built from the TrainJob of that time: later changes are refused like those of a JobSet of this
/// controller.
bool keeps_template_of_others(const api::Json& live);

/// Returns the event JobSetKept. `field`: a field that this controller would build otherwise.
Event template_kept(std::string_view field);

/// Returns what a new JobSet would do: "delete its volume claims with what they hold" for `loses_claims`,
/// "run again what has finished" for `loses_work`, else "".
std::string_view loss(Recreation verdict);

/// Returns why a JobSet that has lost a volume stays suspended, for a verdict that loses_something().
/// `refusal`: which volume.
api::Error cannot_take(Recreation why, const api::Error& refusal);

/// Returns the error for a refused apply that leaves all immutable fields as they are: something in the
/// cluster changes JobSets on UPDATE. `field`: the field that it may change; "" if unknown.
api::Error changed_by_cluster(const api::Error& refusal, std::string field);

/// The most recreations for one generation of a TrainJob, whatever a cluster does to its JobSets.
inline constexpr int max_recreations = 3;

/// Returns the number of recreations for that generation, by the note on the snapshot of the runtime. The
/// JobSet with `uid` does not count, although it may be noted: it still exists, so its deletion has failed.
int recreations(const api::Json& snapshot, std::int64_t generation, std::string_view uid);
/// Returns the snapshot with a note that the JobSet with `uid` is recreated. Noted twice, it counts once.
api::Json with_recreation(api::Json snapshot, std::int64_t generation, std::string_view uid);
/// Returns the error after max_recreations.
api::Error too_many_recreations(const api::Error& refusal);

/// Returns whether the API server refuses a change because a field of an existing JobSet must not change, or
/// cannot be removed from it.
bool refuses_immutable_field(const api::Error& error);

/// Returns whether the live JobSet may have been active at some time. False only if it is suspended, and
/// either its spec has not changed since its creation, or this controller has created it and its
/// managedFields show that only applies of this controller have set `suspend`: this controller suspends an
/// active JobSet by an update, whose entry stays there until the next resume. (The original suspends by
/// applies under the same field manager.) Timestamps would show it too, but they are of different clocks.
bool may_have_run(const api::Json& live);

/// Returns `wanted`, with api::taken_over_annotation if `live` has been taken over and an apply would remove
/// what shows that. The mark is needed while the JobSet stays suspended and its volume claims are at stake,
/// or if `keeps_template`: its immutable fields stay as the other controller has built them.
api::Json with_mark_of_takeover(api::Json wanted, const api::Json& live, bool keeps_template);

/// Returns whether deleting the JobSet also deletes volume claims of its `spec.volumeClaimPolicies`.
bool deletes_volume_claims(const api::Json& job_set_spec);

/// Returns whether Jobs of the JobSet have succeeded, such as its initializers, or those of an earlier
/// attempt that it lacks.
bool has_finished_jobs(const api::JobSet& job_set);

}  // namespace lifecycle
