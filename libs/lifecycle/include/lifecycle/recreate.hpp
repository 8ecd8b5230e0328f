#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "api/error.hpp"
#include "api/job_set.hpp"
#include "api/json.hpp"
#include "lifecycle/event.hpp"

namespace lifecycle {

/// A change of a suspended JobSet of ours that the API server refuses: a field would have to change that must
/// not. Only a new JobSet could have it.
struct RefusedChange {
    bool any_active = false;      ///< pods of it are still active
    bool has_run = false;         ///< may_have_run()
    bool deletes_claims = false;  ///< deletes_volume_claims()
    bool has_finished = false;    ///< has_finished_jobs()
};

/// Those facts of the live JobSet, with its managedFields.
RefusedChange refused_change(const api::Json& live);

enum class Recreation {
    wait,          ///< until no pod is active
    recreate,      ///< delete it (UID precondition, foreground); the next reconcile builds it anew
    loses_claims,  ///< never: that would throw away the checkpoints of a job that has run
    loses_work     ///< never: what has finished would run again
};

/// What to do about it.
Recreation recreation(const RefusedChange& change);
inline bool loses_something(Recreation verdict) {
    return verdict == Recreation::loses_claims || verdict == Recreation::loses_work;
}

/// Whether a JobSet that another controller has applied keeps what must not change as that has built it: a
/// new one would lose something. From our first apply on, that counts as built from what the TrainJob is
/// then: later changes are refused like those of a JobSet of ours.
bool keeps_template_of_others(const api::Json& live);

/// Tells of that. `field`: what is not as we would build it.
Event template_kept(std::string_view field);

/// What a new JobSet would do, for `loses_claims` and `loses_work`: "delete its volume claims with what they
/// hold". Empty for the others.
std::string_view loss(Recreation verdict);

/// Why there is no new JobSet, for `loses_claims` and `loses_work`: JobsCreationFailed. `refusal` says what
/// is refused.
api::Error cannot_take(Recreation why, const api::Error& refusal);

/// The refusal of an apply that leaves what must not change as it is: something in the cluster changes
/// JobSets on UPDATE. `field`: what it may be that it changes; empty where nothing tells.
api::Error changed_by_cluster(const api::Error& refusal, std::string field);

/// However a cluster treats our JobSets: for one generation of a TrainJob, no more are made anew than these.
inline constexpr int max_recreations = 3;

/// How many there were, by the note on the snapshot of its runtime. The JobSet with `uid` does not count,
/// although it may be noted: it is still there, so its deletion has failed.
int recreations(const api::Json& snapshot, std::int64_t generation, std::string_view uid);
/// The snapshot with a note that the JobSet with `uid` is to be made anew. Noted again, it counts once.
api::Json with_recreation(api::Json snapshot, std::int64_t generation, std::string_view uid);
/// Why there is none after that.
api::Error recreated_in_vain(const api::Error& refusal);

/// Whether the API server refuses a change because a field of an existing JobSet must not change, or cannot
/// be withdrawn from it.
bool refuses_immutable_field(const api::Error& error);

/// Whether the live JobSet was not suspended at some time, as far as is known. False only if it is
/// suspended and either its spec is still the one that it was created with, or it is ours from the beginning
/// and its managedFields show that nothing but our applies ever suspended it: what has run we suspend by an
/// update, whose mark stays until the next resume. (The original suspends by applies under our name.) Times
/// would tell as well, but those of different clocks.
bool may_have_run(const api::Json& live);

/// `wanted` with api::taken_over_annotation where our apply would take away what tells that `live` is not
/// ours from the beginning: it stays suspended, and its volume claims are at stake; or `keeps_template`: what
/// must not change of it stays as that controller has built it.
api::Json with_mark_of_takeover(api::Json wanted, const api::Json& live, bool keeps_template);

/// Whether deleting the JobSet also deletes volume claims of its `spec.volumeClaimPolicies`.
bool deletes_volume_claims(const api::Json& job_set_spec);

/// Whether Jobs of it have succeeded, such as its initializers.
bool has_finished_jobs(const api::JobSet& job_set);

}  // namespace lifecycle
