#include "lifecycle/snapshot.hpp"

#include "objects.hpp"
#include "text.hpp"

namespace lifecycle {

TEST_CASE("which runtime counts", "[snapshot]") {
    CHECK(runtime_source(submitted()) == RuntimeSource::live);
    CHECK(runtime_source(running()) == RuntimeSource::snapshot_else_live);

    Observed observed = running();
    SECTION("a JobSet that is not reported yet") {
        observed.job->conditions.clear();
        observed.job->jobs_status.clear();
        CHECK(runtime_source(observed) == RuntimeSource::snapshot_else_live);
    }
    SECTION("a lost JobSet") {
        observed.job_set.reset();
        CHECK(runtime_source(observed) == RuntimeSource::snapshot);
        Observed without_counts = observed;
        without_counts.job->jobs_status.clear();
        CHECK(runtime_source(without_counts) == RuntimeSource::snapshot);
        observed.job->conditions.clear();
        CHECK(runtime_source(observed) == RuntimeSource::snapshot);
        observed.job->jobs_status.clear();
        CHECK(runtime_source(observed) == RuntimeSource::live);
    }
    SECTION("a JobSet of another owner does not count") {
        observed = submitted();
        observed.job_set = job_set_of(*observed.job);
        make_foreign(observed);
        CHECK(runtime_source(observed) == RuntimeSource::live);
    }
}

TEST_CASE("what is built from, and what is stored", "[snapshot]") {
    using From = SnapshotPlan::BuildFrom;
    using Store = SnapshotPlan::Store;
    struct Row {
        const char* name;
        RuntimeSource source;
        bool live_exists;
        SnapshotState snapshot;
        SnapshotPlan want;
    };
    constexpr auto live = RuntimeSource::live;
    constexpr auto snapshot = RuntimeSource::snapshot;
    constexpr auto takeover = RuntimeSource::snapshot_else_live;
    using S = SnapshotState;
    const Row rows[] = {
        {"the first build stores the runtime", live, true, S::absent, {From::live, Store::create}},
        {"the same is kept", live, true, S::same, {From::live, Store::keep}},
        {"a corrected runtime replaces it", live, true, S::differs, {From::live, Store::replace}},
        {"a broken one is replaced", live, true, S::broken, {From::live, Store::replace}},
        {"a foreign one is in the way", live, true, S::foreign, {From::nothing, Store::keep}},
        {"no runtime, but its snapshot", live, false, S::differs, {From::snapshot, Store::keep}},
        {"no runtime at all", live, false, S::absent, {From::nothing, Store::keep}},
        {"no runtime and a broken snapshot", live, false, S::broken, {From::nothing, Store::keep}},
        {"later the snapshot alone counts", snapshot, true, S::differs, {From::snapshot, Store::keep}},
        {"also without the runtime", snapshot, false, S::same, {From::snapshot, Store::keep}},
        {"there is no way back to the live runtime", snapshot, true, S::absent, {From::nothing, Store::keep}},
        {"nor from a broken snapshot", snapshot, true, S::broken, {From::nothing, Store::keep}},
        {"nor from a foreign one", snapshot, true, S::foreign, {From::nothing, Store::keep}},
        {"a job taken over gets one", takeover, true, S::absent, {From::live, Store::create}},
        {"a running job follows its own", takeover, true, S::differs, {From::snapshot, Store::keep}},
        {"a running job's broken one is not replaced",
         takeover,
         true,
         S::broken,
         {From::nothing, Store::keep}},
        {"a running job's foreign one neither", takeover, true, S::foreign, {From::nothing, Store::keep}},
        {"taken over without a runtime", takeover, false, S::absent, {From::nothing, Store::keep}},
    };
    for (const Row& row : rows) {
        INFO(row.name);
        CHECK(plan_snapshot(row.source, row.live_exists, row.snapshot) == row.want);
    }
}

}  // namespace lifecycle
