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
        observed.job->runtime_digest.clear();
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
        CHECK(runtime_source(observed) == RuntimeSource::snapshot);
        observed.job->runtime_digest.clear();
        CHECK(runtime_source(observed) == RuntimeSource::live);
    }
    SECTION("a JobSet of another owner does not count") {
        observed = submitted();
        observed.job_set = job_set_of(*observed.job);
        make_foreign(observed);
        CHECK(runtime_source(observed) == RuntimeSource::live);
    }
}

TEST_CASE("a tenant can write neither of the two notes of what a job began with", "[snapshot]") {
    Observed observed = running();
    observed.job->runtime_digest = "status";
    observed.job_set->runtime_digest = "note";
    CHECK(began_with(observed).digest == "status");
    CHECK(began_with(observed).is_settled);
    observed.job->runtime_digest.clear();
    CHECK(began_with(observed).digest == "note");
    CHECK(began_with(observed).is_settled);
    observed.job->conditions.clear();
    observed.job->jobs_status.clear();
    CHECK_FALSE(began_with(observed).is_settled);
    make_foreign(observed);
    CHECK(began_with(observed).digest.empty());
    CHECK(began_with(submitted()).digest.empty());
}

TEST_CASE("what is built from, and what is stored", "[snapshot]") {
    using From = SnapshotPlan::BuildFrom;
    using Store = SnapshotPlan::Store;
    struct Row {
        const char* name;
        RuntimeSource source;
        Beginning began;
        Runtimes found;
        SnapshotPlan want;
    };
    constexpr auto live = RuntimeSource::live;
    constexpr auto snapshot = RuntimeSource::snapshot;
    constexpr auto beside_job_set = RuntimeSource::snapshot_else_live;
    const Beginning unknown = {};
    const Beginning began = {"A", true};   // by the status
    const Beginning noted = {"A", false};  // by the JobSet, which the status does not show yet
    const Beginning older = {"", true};    // under a release that stored no digest
    const auto absent = [](const char* now) { return Runtimes{SnapshotState::absent, "", now}; };
    const auto broken = [](const char* now) { return Runtimes{SnapshotState::broken, "", now}; };
    const auto foreign = [](const char* now) { return Runtimes{SnapshotState::foreign, "", now}; };
    const auto holds = [](const char* digest, const char* now) {
        return Runtimes{SnapshotState::readable, digest, now};
    };
    const char* const gone = "";
    const SnapshotPlan nothing = {From::nothing, Store::keep};
    const SnapshotPlan kept = {From::snapshot, Store::keep};
    const SnapshotPlan created = {From::live, Store::create};
    const SnapshotPlan restored = {From::live, Store::restore};
    const Row rows[] = {
        {"the first build stores the runtime", live, unknown, absent("A"), created},
        {"the same is kept", live, unknown, holds("A", "A"), {From::live, Store::keep}},
        {"a corrected runtime replaces it", live, unknown, holds("A", "B"), {From::live, Store::replace}},
        {"a broken one is replaced", live, unknown, broken("A"), {From::live, Store::replace}},
        {"a foreign one is in the way", live, unknown, foreign("A"), nothing},
        {"without a runtime, a snapshot that nothing confirms", live, unknown, holds("A", gone), nothing},
        {"no runtime at all", live, unknown, absent(gone), nothing},

        {"later the snapshot alone counts", snapshot, began, holds("A", "B"), kept},
        {"also without the runtime", snapshot, began, holds("A", gone), kept},
        {"a lost one returns from the same runtime", snapshot, began, absent("A"), created},
        {"and from no other", snapshot, began, absent("B"), nothing},
        {"nor from none", snapshot, began, absent(gone), nothing},
        {"a forged one is restored from the same runtime", snapshot, began, holds("F", "A"), restored},
        {"and not used without it", snapshot, began, holds("F", "B"), nothing},
        {"nor if the runtime says the same now", snapshot, began, holds("B", "B"), nothing},
        {"a broken one is restored from the same runtime", snapshot, began, broken("A"), restored},
        {"and from no other", snapshot, began, broken("B"), nothing},
        {"a foreign one is in the way", snapshot, began, foreign("A"), nothing},

        {"a JobSet follows its own", beside_job_set, began, holds("A", "B"), kept},
        {"a lost one returns beside it", beside_job_set, began, absent("A"), created},
        {"and not from another runtime", beside_job_set, began, absent("B"), nothing},
        {"a forged one does not reach it", beside_job_set, began, holds("F", "B"), nothing},
        {"a broken one is not replaced by another runtime", beside_job_set, began, broken("B"), nothing},
        {"a foreign one is in the way", beside_job_set, began, foreign("A"), nothing},
        {"the JobSet tells what it began with", beside_job_set, noted, holds("A", "B"), kept},
        {"also if the snapshot is lost", beside_job_set, noted, absent("B"), nothing},
        {"or forged", beside_job_set, noted, holds("F", "B"), nothing},
        {"of a late JobSet, a corrected snapshot counts", beside_job_set, noted, holds("B", "B"), kept},

        {"a job taken over gets one", beside_job_set, unknown, absent("A"), created},
        {"or keeps its own", beside_job_set, unknown, holds("A", "B"), kept},
        {"its broken one is not replaced", beside_job_set, unknown, broken("A"), nothing},
        {"a foreign one neither", beside_job_set, unknown, foreign("A"), nothing},
        {"taken over without a runtime", beside_job_set, unknown, absent(gone), nothing},
        {"one of Kubeflow Trainer that lost its JobSet", snapshot, older, holds("A", "A"), kept},
        {"but not from a snapshot that nothing confirms", snapshot, older, holds("F", "A"), nothing},
        {"nor from the live runtime", snapshot, older, absent("A"), nothing},
    };
    for (const Row& row : rows) {
        INFO(row.name);
        CHECK(plan_snapshot(row.source, row.began, row.found) == row.want);
    }
}

}  // namespace lifecycle
