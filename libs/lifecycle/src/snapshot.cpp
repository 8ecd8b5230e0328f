#include "lifecycle/snapshot.hpp"

namespace lifecycle {
namespace {

using From = SnapshotPlan::BuildFrom;
using Store = SnapshotPlan::Store;

// Nothing of the job exists yet, so a corrected runtime must take effect. Without a runtime, nothing shows
// that a snapshot is what a reconciler has stored.
SnapshotPlan follow_live(const Runtimes& found) {
    if (found.live_digest.empty()) return {};
    if (found.snapshot == SnapshotState::absent) return {From::live, Store::create};
    return {From::live, found.snapshot_digest == found.live_digest ? Store::keep : Store::replace};
}

}  // namespace

// docs/design/lifecycle.md#the-snapshot has the reasons.
RuntimeSource runtime_source(const Observed& observed) {
    if (own_job_set(observed)) return RuntimeSource::snapshot_else_live;
    return observed.job && had_job_set(*observed.job) ? RuntimeSource::snapshot : RuntimeSource::live;
}

Beginning began_with(const Observed& observed) {
    const api::TrainJob& job = *observed.job;
    const api::JobSet* job_set = own_job_set(observed);
    const std::string noted = job_set ? job_set->runtime_digest : std::string();
    return {.digest = job.runtime_digest.empty() ? noted : job.runtime_digest,
            .is_settled = had_job_set(job)};
}

SnapshotPlan plan_snapshot(RuntimeSource source, const Beginning& began, const Runtimes& found) {
    if (found.snapshot == SnapshotState::foreign) return {};
    if (source == RuntimeSource::live) return follow_live(found);
    const bool is_known = !began.digest.empty();
    const bool takes_over = source == RuntimeSource::snapshot_else_live && !is_known;
    const bool is_absent = found.snapshot == SnapshotState::absent;
    if (found.snapshot == SnapshotState::readable) {
        // What the live runtime says now is no tenant's.
        const bool may_be_live = !is_known || !began.is_settled;
        if (takes_over || found.snapshot_digest == began.digest ||
            (may_be_live && found.snapshot_digest == found.live_digest))
            return {From::snapshot, Store::keep};
    }
    if (is_known && found.live_digest == began.digest)
        return {From::live, is_absent ? Store::create : Store::restore};
    if (takes_over && is_absent && !found.live_digest.empty()) return {From::live, Store::create};
    return {};
}

}  // namespace lifecycle
