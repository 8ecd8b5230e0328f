// A runtime's own JobSet template has the label of a queue: Kueue suspends and resumes such JobSets.
#include "api/names.hpp"
#include "life.hpp"

namespace controller {
namespace {

struct Queued : Life {
    // `early`: Kueue's webhook suspends the JobSet as it is created.
    explicit Queued(bool early = true) {
        server.edit(cluster_training_runtimes, torch, [](Json& runtime) {
            runtime["spec"]["template"]["metadata"]["labels"][api::queue_label] = "team";
        });
        if (early)
            server.mutate_create = [](const model::Kind& kind, Json& object) {
                if (kind.kind == "JobSet") object["spec"]["suspend"] = true;
            };
    }
    // Returns the writes of the JobSet.
    std::ptrdiff_t settle() {
        server.take_writes();
        for (int reconciles = 0; reconciles < 4; ++reconciles) CHECK_FALSE(reconcile().error);
        const Writes all = server.take_writes();
        return std::count(all.begin(), all.end(), "PATCH " + job_set_path);
    }
    void kueue_sets(bool suspend) {
        server.edit(job_sets, key, [&](Json& job_set) {
            job_set["spec"]["suspend"] = suspend;
            job_set["status"]["replicatedJobsStatus"] =
                Json::array({Json::object({{"name", "node"}, {suspend ? "suspended" : "active", 1}})});
        });
    }
    bool is_suspended() const { return job_set()["spec"]["suspend"].bool_or(false); }
    std::string note() const {
        return std::string(job_set()["metadata"]["annotations"][api::written_suspend_annotation].as_string());
    }
};

}  // namespace

TEST_CASE("a JobSet in a queue of its own waits, runs and waits as Kueue says", "[reconcile]") {
    Queued life;
    CHECK(life.settle() == 1);  // it is created
    for (const bool suspend : {true, false, true}) {
        CAPTURE(suspend);
        life.kueue_sets(suspend);
        CHECK(life.settle() == 0);
        CHECK(life.is_suspended() == suspend);
        CHECK(life.note() == "false");
    }
    CHECK_THAT(life.log_lines.back(), Catch::Contains("WaitingForQueue"));
}

TEST_CASE("a suspension of the TrainJob, and its end, are written to such a JobSet once", "[reconcile]") {
    Queued life;
    life.settle();
    life.kueue_sets(false);
    life.set_suspend(true);
    CHECK(life.settle() == 1);
    CHECK(life.is_suspended());
    CHECK(life.note() == "true");
    SECTION("Kueue resumes it") {
        life.kueue_sets(false);
        CHECK(life.settle() == 0);
        CHECK_FALSE(life.is_suspended());
        CHECK_THAT(life.log_lines.back(), Catch::Contains("ResumedByQueue"));
    }
    SECTION("there is no Kueue") {
        life.set_suspend(false);
        CHECK(life.settle() == 1);
        CHECK_FALSE(life.is_suspended());
        CHECK(life.note() == "false");
    }
    SECTION("Kueue suspends it after the resume") {
        life.set_suspend(false);
        life.settle();
        life.kueue_sets(true);
        CHECK(life.settle() == 0);
        CHECK(life.is_suspended());
    }
}

TEST_CASE("a TrainJob that is created suspended resumes such a JobSet once", "[reconcile]") {
    Queued life(false);
    life.set_suspend(true);
    life.settle();
    CHECK(life.note() == "true");
    life.kueue_sets(true);
    life.set_suspend(false);
    CHECK(life.settle() == 1);
    CHECK_FALSE(life.is_suspended());
    life.kueue_sets(true);
    CHECK(life.settle() == 0);
}

TEST_CASE("a JobSet that a webhook puts into a queue is resumed once", "[reconcile]") {
    Life plain;
    plain.server.mutate_create = [](const model::Kind& kind, Json& object) {
        if (kind.kind != "JobSet") return;
        object["spec"]["suspend"] = true;
        object["metadata"]["labels"][api::queue_label] = "default";
    };
    for (int reconciles = 0; reconciles < 3; ++reconciles) plain.reconcile();
    CHECK_FALSE(plain.job_set()["spec"]["suspend"].bool_or(true));
    plain.server.edit(job_sets, key, [](Json& job_set) { job_set["spec"]["suspend"] = true; });
    plain.server.take_writes();
    for (int reconciles = 0; reconciles < 3; ++reconciles) plain.reconcile();
    CHECK(plain.server.take_writes().empty());
    CHECK(plain.job_set()["metadata"]["labels"][api::queue_label] == Json("default"));
}

TEST_CASE("a JobSet follows a TrainJob that is in a queue itself", "[reconcile]") {
    Queued life;
    life.server.edit(train_jobs, key,
                     [](Json& job) { job["metadata"]["labels"][api::queue_label] = "team"; });
    life.settle();
    for (const bool suspend : {true, false, true}) {
        CAPTURE(suspend);
        life.kueue_sets(!suspend);
        life.set_suspend(suspend);
        CHECK(life.settle() == 1);
        CHECK(life.is_suspended() == suspend);
        CHECK(life.note().empty());
    }
}

}  // namespace controller
