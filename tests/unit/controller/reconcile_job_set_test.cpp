// docs/design/building.md#when-the-jobset-is-written, and whose names count.
#include "api/names.hpp"
#include "life.hpp"

namespace controller {
namespace {

// A job that is settled; the JobSet, or what it left when it went, is suspended or not, and the TrainJob has
// been changed since: a label for its Pods.
struct Changed : Life {
    Changed(bool exists, bool job_suspended, bool job_set_suspended) {
        if (job_suspended) set_suspend(true);
        reconcile();
        reconcile();
        server.edit(job_sets, key, [&](Json& job_set) { job_set["spec"]["suspend"] = job_set_suspended; });
        if (!exists) server.erase(job_sets, key);
        set_in_job("runtimePatches", api::parse_json(R"([{"manager": "test.io/x", "trainingRuntimeSpec": {
            "template": {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": {
                "metadata": {"labels": {"new": "yes"}}}}}}]}}}}])")
                                         .value());
        server.take_writes();
    }
    bool has_change() {
        const Json& pod =
            std::as_const(job_set())["spec"]["replicatedJobs"][0]["template"]["spec"]["template"];
        return pod["metadata"]["labels"]["new"] == "yes";
    }
    std::size_t writes_of_job_set() {
        const Writes all = server.take_writes();
        return static_cast<std::size_t>(std::count(all.begin(), all.end(), "PATCH " + job_set_path));
    }
};

TEST_CASE("a JobSet is written when there is none, and while it or its TrainJob is suspended",
          "[reconcile]") {
    struct Row {
        bool exists, job_suspended, job_set_suspended;
        std::size_t writes;  // of the JobSet, until all is settled
        bool changed;
        const char* why;
    };
    const Row rows[] = {
        {false, false, false, 1, true, "made anew, and runs"},
        {false, false, true, 1, true, "made anew, and runs; what was before does not matter"},
        {false, true, false, 1, true, "made anew, and waits"},
        {false, true, true, 1, true, "made anew, and waits"},
        {true, false, false, 0, false, "it runs: hands off"},
        {true, false, true, 1, true, "resumed, with what has changed"},
        {true, true, false, 2, true, "suspended first, then changed"},
        {true, true, true, 1, true, "changed while it waits"},
    };
    for (const Row& row : rows) {
        DYNAMIC_SECTION(row.why << ": " << row.exists << row.job_suspended << row.job_set_suspended) {
            Changed life(row.exists, row.job_suspended, row.job_set_suspended);
            for (int reconciles = 0; reconciles < 4; ++reconciles) life.reconcile();
            CHECK(life.writes_of_job_set() == row.writes);
            CHECK(life.has_change() == row.changed);
            CHECK(life.job_set()["spec"]["suspend"] == Json(row.job_suspended));
        }
    }
}

TEST_CASE("a job that is suspended and resumed costs one write of its JobSet each", "[reconcile]") {
    Life life;
    life.reconcile();
    life.server.take_writes();
    const std::string applied(
        std::as_const(life.job_set())["metadata"]["annotations"][api::applied_hash_annotation].as_string());
    for (const bool suspend : {true, false, true}) {
        CAPTURE(suspend);
        life.set_suspend(suspend);
        for (int reconciles = 0; reconciles < 4; ++reconciles) CHECK_FALSE(life.reconcile().error);
        CHECK(life.server.take_writes() == Writes{"PATCH " + status_path, "PATCH " + job_set_path});
        CHECK(life.job_set()["spec"]["suspend"] == Json(suspend));
        CHECK(std::as_const(life.job_set())["metadata"]["annotations"][api::applied_hash_annotation] ==
              applied);
        CHECK(life.condition("Suspended") == (suspend ? "True/Suspended" : "False/Resumed"));
    }
}

TEST_CASE("a job is resumed with one look at each of its objects, and no older JobSet than that",
          "[reconcile]") {
    Life life;
    life.set_suspend(true);
    life.reconcile();
    life.set_suspend(false);
    life.server.take_writes();
    std::vector<std::string> reads;
    life.server.refuse_read = [&](const kube::Request& request) {
        reads.push_back(request.target);
        return std::optional<api::Error>();
    };
    SECTION("undisturbed") {
        CHECK_FALSE(life.reconcile().error);
        CHECK(reads == std::vector<std::string>{job_path, runtime_path, job_set_path});
        const Writes writes = life.server.take_writes();
        CHECK(std::count(writes.begin(), writes.end(), "PATCH " + job_set_path) == 1);
        CHECK(life.job_set()["spec"]["suspend"] == Json(false));
    }
    SECTION("the JobSet changes after it was looked at") {
        bool interferes = true;
        life.server.refuse = [&](const kube::Request& request) {
            if (std::exchange(interferes, interferes && !request.target.starts_with(job_set_path)) &&
                !interferes)
                life.server.edit(job_sets, key, [](Json& job_set) { job_set["spec"]["other"] = "yes"; });
            return std::optional<api::Error>();
        };
        const auto report = life.reconcile();
        CHECK(report.error);
        CHECK(report.error->code == api::Errc::conflict);
        CHECK(life.job_set()["spec"]["suspend"] == Json(true));
        CHECK_FALSE(life.reconcile().error);
        CHECK(life.job_set()["spec"]["suspend"] == Json(false));
        CHECK(life.job_set()["spec"]["other"] == Json("yes"));
    }
}

TEST_CASE("a suspension needs no read, and carries the version of the JobSet", "[reconcile]") {
    Life life;
    life.reconcile();
    life.count_in_job_set(R"([{"name": "node", "ready": 1, "active": 1}])");
    life.reconcile();
    life.server.edit(train_jobs, key, [](Json& job) { job["spec"]["suspend"] = true; });
    std::vector<std::string> reads;
    life.server.refuse_read = [&](const kube::Request& request) {
        reads.push_back(request.target);
        return std::optional<api::Error>();
    };
    life.server.take_writes();
    SECTION("the caches show the latest JobSet") {
        CHECK_FALSE(life.reconcile().error);
        CHECK(reads.empty());
        CHECK(life.server.take_writes() == Writes{"PATCH " + status_path, "PATCH " + job_set_path});
    }
    SECTION("it has changed since") {
        life.server.show(life.cache);
        life.frozen = true;
        life.server.edit(job_sets, key, [](Json& job_set) { job_set["spec"]["other"] = "yes"; });
        CHECK_FALSE(life.reconcile().error);
        CHECK(reads == std::vector<std::string>{job_path, runtime_path, job_set_path});
        CHECK(life.server.take_writes() ==
              Writes{"PATCH " + status_path, "PATCH " + job_set_path, "PATCH " + job_set_path});
        CHECK(life.job_set()["spec"]["other"] == Json("yes"));
    }
    CHECK(life.job_set()["spec"]["suspend"] == Json(true));
}

TEST_CASE("a job is resumed once the Pods of before have ended", "[reconcile]") {
    using kube::resources::jobs;
    Life life;
    life.reconcile();
    life.set_suspend(true);
    life.reconcile();
    REQUIRE(life.job_set()["spec"]["suspend"] == Json(true));
    Json child = api::parse_json(R"({"apiVersion": "batch/v1", "kind": "Job", "metadata": {
        "name": "job-node-0", "namespace": "ns", "labels": {"jobset.sigs.k8s.io/jobset-name": "job"}},
        "spec": {"suspend": true}, "status": {"startTime": "2026-01-15T10:00:00Z", "terminating": 2,
        "conditions": [{"type": "Suspended", "status": "True"}]}})")
                     .value();
    child["metadata"]["ownerReferences"] = Json::array({Json::object(
        {{"kind", "JobSet"}, {"uid", api::parse_meta(life.job_set()).uid}, {"controller", true}})});
    life.server.put(jobs, child);
    life.set_suspend(false);
    SECTION("a list of Jobs that is too long does not keep the job suspended") {
        life.server.refuse_read = [](const kube::Request& request) -> std::optional<api::Error> {
            if (!request.target.starts_with(jobs_path)) return std::nullopt;
            return api::Error{.code = api::Errc::too_large, .message = "too large"};
        };
        CHECK_FALSE(life.reconcile().error);
        CHECK(life.job_set()["spec"]["suspend"] == Json(false));
    }
    SECTION("two of them still end") {
        const auto waits = life.reconcile();
        CHECK_FALSE(waits.error);
        CHECK(waits.requeue_after == 1s);
        CHECK(life.condition("Suspended") == "False/Resumed");
        CHECK(life.job_set()["spec"]["suspend"] == Json(true));
        life.server.edit(jobs, {"ns", "job-node-0"}, [](Json& job) { job["status"]["terminating"] = 0; });
        CHECK_FALSE(life.reconcile().error);
        CHECK(life.job_set()["spec"]["suspend"] == Json(false));
    }
}

// What the caches show is from before the JobSet came.
struct Unseen : Life {
    std::vector<std::string> reads = {};

    Unseen() {
        server.show(cache);
        frozen = true;
        server.refuse_read = [this](const kube::Request& request) {
            reads.push_back(request.target);
            return std::optional<api::Error>();
        };
    }
    bool has_read_job_set() const { return std::count(reads.begin(), reads.end(), job_set_path) > 0; }
};

TEST_CASE("a JobSet of ours that the caches have not shown yet keeps its runtime and its snapshot",
          "[reconcile]") {
    for (const bool has_snapshot : {true, false}) {
        DYNAMIC_SECTION((has_snapshot ? "with" : "without") << " its snapshot") {
            Unseen life;
            life.server.refuse = [](const kube::Request& request) -> std::optional<api::Error> {
                if (!request.target.starts_with(status_path)) return std::nullopt;
                return api::Error{.code = api::Errc::unavailable, .message = "connection lost"};
            };
            CHECK(life.reconcile().error);
            life.server.refuse = {};
            const Json job_set = life.job_set();
            const Json stored = *life.server.find(config_maps, snapshot);
            if (!has_snapshot) life.server.erase(config_maps, snapshot);
            life.set_nodes(7);

            CHECK_FALSE(life.reconcile().error);
            CHECK(life.has_read_job_set());
            CHECK(life.job_set() == job_set);
            CHECK((!has_snapshot || *life.server.find(config_maps, snapshot) == stored));
            CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
        }
    }
}

TEST_CASE("a job that runs is not said to be broken because its JobSet has not been seen yet",
          "[reconcile]") {
    Unseen life;
    life.server.refuse = [](const kube::Request& request) -> std::optional<api::Error> {
        if (!request.target.starts_with(status_path)) return std::nullopt;
        return api::Error{.code = api::Errc::unavailable, .message = "connection lost"};
    };
    life.reconcile();
    life.server.refuse = {};
    SECTION("its runtime is gone") { life.server.erase(cluster_training_runtimes, torch); }
    SECTION("its runtime is broken") {
        life.server.edit(cluster_training_runtimes, torch, [](Json& runtime) {
            runtime["spec"]["template"]["spec"]["replicatedJobs"] = Json::array();
        });
    }
    SECTION("a quota is used up") {
        life.server.refuse = [](const kube::Request& request) -> std::optional<api::Error> {
            if (request.method != "POST") return std::nullopt;
            return api::Error{.code = api::Errc::forbidden, .message = "exceeded quota", .http_status = 403};
        };
    }
    life.reconcile();
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
}

TEST_CASE("pods of a job that is suspended are not reported as ended before their JobSet is seen",
          "[reconcile]") {
    for (const bool job_set_is_read : {true, false}) {
        CAPTURE(job_set_is_read);
        Life before;
        before.reconcile();
        Json running = before.job_set();
        running["status"] = api::parse_json(R"({"replicatedJobsStatus": [{"name": "node", "ready": 2,
            "succeeded": 0, "failed": 0, "active": 1, "suspended": 0}]})")
                                .value();
        before.server.put(job_sets, running);
        before.reconcile();
        // Another replica leads now, whose cache lacks that JobSet.
        Unseen life;
        life.server.put(train_jobs, before.job());
        life.set_suspend(true);
        life.frozen = false;
        life.server.show(life.cache);
        life.frozen = true;
        life.server.put(job_sets, running);
        life.server.take_writes();
        if (!job_set_is_read)
            life.server.refuse_read = [](const kube::Request& request) -> std::optional<api::Error> {
                if (!request.target.starts_with(job_set_path)) return std::nullopt;
                return api::Error{.code = api::Errc::unavailable, .message = "connection lost"};
            };
        life.reconcile();
        CHECK(std::as_const(life.job())["status"]["jobsStatus"][0]["active"] == 1);
        CHECK(life.condition("Suspended") == (job_set_is_read ? "True/Suspended" : ""));
    }
}

TEST_CASE("another owner's JobSet that the cache lacks is in the way", "[reconcile]") {
    Unseen life;
    life.server.put(job_sets, api::parse_json(R"({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
        "metadata": {"name": "job", "namespace": "ns"}, "spec": {"suspend": false}})")
                                  .value());
    const Json foreign = life.job_set();
    life.reconcile();
    CHECK(life.has_read_job_set());
    CHECK(life.job_set() == foreign);
    CHECK(life.condition("Created") == "False/JobsCreationFailed");
    CHECK(life.message("Created") == "JobSet ns/job exists already and does not belong to this TrainJob");

    // Once they show it, nothing else is created any more.
    life.frozen = false;
    life.server.erase(config_maps, snapshot);
    life.reconcile();
    CHECK_FALSE(life.server.find(config_maps, snapshot));
}

TEST_CASE("TrainJobs of one name in two namespaces have nothing to do with each other", "[reconcile]") {
    Life life;
    Json there = api::parse_json(job_text).value();
    there["metadata"]["namespace"] = "elsewhere";
    there["spec"]["trainer"]["numNodes"] = 7;
    life.server.put(train_jobs, std::move(there));
    life.server.put(job_sets, api::parse_json(R"({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
        "metadata": {"name": "job", "namespace": "elsewhere"}, "spec": {"suspend": false}})")
                                  .value());
    const Json before = *life.server.find(job_sets, {"elsewhere", "job"});
    life.reconcile();
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    CHECK(std::as_const(life.job_set())["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] == 2);
    CHECK(*life.server.find(job_sets, {"elsewhere", "job"}) == before);
}

}  // namespace
}  // namespace controller
