#pragma once
#include <string>
#include <vector>

#include "api/error.hpp"
#include "api/job_set.hpp"
#include "api/json.hpp"

namespace lifecycle {

/// A change that a suspended JobSet of ours is to take, and what stands in its way.
struct SuspendedChange {
    bool refused = false;         ///< the API server called a field immutable: refuses_immutable_field()
    bool withdraws = false;       ///< withdrawn_fields() is not empty
    bool any_active = false;      ///< pods of it are still active
    bool has_run = false;         ///< may_have_run()
    bool deletes_claims = false;  ///< deletes_volume_claims()
    std::string why = {};         ///< `refused` or `withdraws` in words
};

enum class Recreation {
    needless,  ///< apply the change
    wait,      ///< until no pod is active
    recreate,  ///< delete it (UID precondition, foreground); when it is gone the next pass builds it anew
    forbidden  ///< that would throw away the checkpoints of a job that has run: JobsCreationFailed
};

/// What to do about a suspended JobSet that cannot become what is wanted now by a mere apply.
Recreation recreation(const SuspendedChange& change);

/// Whether the API server refuses a change because a field of an existing JobSet must not change.
bool refuses_immutable_field(const api::Error& error);

/// Whether the live JobSet was not suspended at some time, as far as can be told. False only if it is
/// suspended and either its spec is still the one that it was created with, or it is ours from the beginning
/// and its managedFields show that nothing but our applies ever suspended it: what has run we suspend by an
/// update, whose mark stays until the next resume. (The original suspends by applies under our name.) Times
/// would tell as well, but those of different clocks.
bool may_have_run(const api::Json& live);

/// `wanted` with api::taken_over_annotation where our apply would take away what tells that `live` is not
/// ours from the beginning: it stays suspended, and its volume claims are at stake.
api::Json with_mark_of_takeover(api::Json wanted, const api::Json& live);

/// Paths of labels, annotations, nodeSelector keys, tolerations and scheduling gates of pod templates that we
/// once applied to `live` and that `wanted` lacks (both: a JobSet). JobSet would leave them on its Jobs for
/// ever. What others added to `live` is theirs, as its managedFields tell and our note of what we applied;
/// where those say nothing of us, everything counts as ours.
std::vector<std::string> withdrawn_fields(const api::Json& live, const api::Json& wanted);

/// `wanted` with the nodeSelector keys and tolerations that others have put next to ours in `live`: an apply
/// writes each of these fields as a whole.
api::Json with_entries_of_others(api::Json wanted, const api::Json& live);

/// Whether deleting the JobSet also deletes volume claims of its `spec.volumeClaimPolicies`.
bool deletes_volume_claims(const api::Json& job_set_spec);

}  // namespace lifecycle
