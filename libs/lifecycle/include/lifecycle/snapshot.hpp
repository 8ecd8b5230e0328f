#pragma once
#include "lifecycle/observed.hpp"

namespace lifecycle {

/// Which runtime a job is built from.
enum class RuntimeSource {
    live,               ///< the live one
    snapshot,           ///< the snapshot alone
    snapshot_else_live  ///< the snapshot; a job taken over from an old release may have none
};

/// Returns the source for a job: the snapshot counts from the moment that a JobSet of the job exists or
/// existed.
RuntimeSource runtime_source(const Observed& observed);

/// The digest of the runtime that a job began with (runtime::digested_text()). A tenant can replace the
/// snapshot, but can write neither the status nor the JobSet.
struct Beginning {
    /// That of the status, else that of the JobSet. Empty: the job has not begun, or did so under an older
    /// release or another controller, and no reconcile has stored it yet.
    std::string digest = {};
    /// The status shows the JobSet. Before that, the snapshot may have been replaced after a JobSet was sent
    /// that arrived late.
    bool is_settled = false;
};
Beginning began_with(const Observed& observed);

/// The state of the ConfigMap with the snapshot of the runtime.
enum class SnapshotState {
    absent,
    foreign,  ///< it has another owner, mostly an earlier TrainJob of that name
    broken,   ///< the TrainJob's, but it holds no runtime, or not the one that the TrainJob names
    readable
};

/// The runtimes that a job can be built from.
struct Runtimes {
    SnapshotState snapshot = SnapshotState::absent;
    std::string snapshot_digest = {};  ///< of a readable one
    std::string live_digest = {};      ///< empty: there is no live runtime
};

/// What to build from, and what to do with the snapshot.
struct SnapshotPlan {
    enum class BuildFrom { live, snapshot, nothing };
    enum class Store {
        keep,
        create,
        replace,  ///< while there is no JobSet
        restore   ///< replace what is not the runtime that the job began with
    };

    /// `nothing` is to be reported as BuildFailed, or as ForeignObject if the snapshot is foreign.
    BuildFrom build_from = BuildFrom::nothing;
    Store store = Store::keep;  ///< once the build has succeeded, before any other object is written

    bool operator==(const SnapshotPlan&) const = default;
};

/// Returns what to build from: docs/design/lifecycle.md#the-snapshot. To replace or restore a snapshot is a
/// DELETE with the UID of its ConfigMap as precondition, then a POST.
SnapshotPlan plan_snapshot(RuntimeSource source, const Beginning& began, const Runtimes& found);

}  // namespace lifecycle
