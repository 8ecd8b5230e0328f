#include "lifecycle/snapshot.hpp"

namespace lifecycle {
namespace {

using From = SnapshotPlan::BuildFrom;
using Store = SnapshotPlan::Store;

// Nothing of the job exists yet, so a corrected runtime must take effect.
SnapshotPlan follow_live(SnapshotState snapshot) {
    if (snapshot == SnapshotState::absent) return {From::live, Store::create};
    return {From::live, snapshot == SnapshotState::same ? Store::keep : Store::replace};
}

bool is_usable(SnapshotState snapshot) {
    return snapshot == SnapshotState::same || snapshot == SnapshotState::differs;
}

}  // namespace

// docs/design/lifecycle.md#the-snapshot has the reasons.
RuntimeSource runtime_source(const Observed& observed) {
    if (own_job_set(observed)) return RuntimeSource::snapshot_else_live;
    return observed.job && had_job_set(*observed.job) ? RuntimeSource::snapshot : RuntimeSource::live;
}

SnapshotPlan plan_snapshot(RuntimeSource source, bool live_exists, SnapshotState snapshot) {
    if (snapshot == SnapshotState::foreign) return {};
    if (source == RuntimeSource::live && live_exists) return follow_live(snapshot);
    if (is_usable(snapshot)) return {From::snapshot, Store::keep};
    const bool take_over = source == RuntimeSource::snapshot_else_live && live_exists;
    if (take_over && snapshot == SnapshotState::absent) return {From::live, Store::create};
    return {};
}

}  // namespace lifecycle
