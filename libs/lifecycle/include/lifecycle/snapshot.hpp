#pragma once
#include "lifecycle/observed.hpp"

namespace lifecycle {

/// Which runtime a job is built from.
enum class RuntimeSource {
    live,               ///< the live one; its snapshot only when it is gone
    snapshot,           ///< the snapshot alone
    snapshot_else_live  ///< the snapshot; a job taken over from an old release may have none
};

/// Returns the source for a job: the snapshot counts from the moment that a JobSet of the job exists or
/// existed.
RuntimeSource runtime_source(const Observed& observed);

/// The state of the ConfigMap with the snapshot of the runtime.
enum class SnapshotState {
    absent,
    foreign,  ///< it has another owner, mostly an earlier TrainJob of that name
    broken,   ///< the TrainJob's, but it holds no runtime, or not the one that the TrainJob names
    differs,  ///< readable, but not what would be stored now (also: no live runtime to compare with)
    same
};

/// What to build from, and what to do with the snapshot.
struct SnapshotPlan {
    enum class BuildFrom { live, snapshot, nothing };
    enum class Store { keep, create, replace };

    /// `nothing` is to be reported as BuildFailed, or as ForeignObject if the snapshot is foreign.
    BuildFrom build_from = BuildFrom::nothing;
    Store store = Store::keep;  ///< once the build has succeeded, before any other object is written

    bool operator==(const SnapshotPlan&) const = default;
};

/// Returns what to build from. `live_exists`: whether the live runtime was found. To replace a snapshot is a
/// DELETE with the UID of its ConfigMap as precondition, then a POST.
SnapshotPlan plan_snapshot(RuntimeSource source, bool live_exists, SnapshotState snapshot);

}  // namespace lifecycle
