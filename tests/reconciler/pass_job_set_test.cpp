// When a JobSet is written: runtime.md's table of what exists and what is suspended, and whose names count.
#include "life.hpp"

namespace reconciler {
namespace {

// A job that is settled; the JobSet, or what it left when it went, is suspended or not, and the TrainJob has
// been changed since: a label for its Pods.
struct Changed : Life {
    Changed(bool exists, bool job_suspended, bool job_set_suspended) {
        if (job_suspended) set_suspend(true);
        pass();
        pass();
        Json edited = job_set();
        edited["spec"]["suspend"] = job_set_suspended;
        server.put(job_sets, std::move(edited));
        if (!exists) server.erase(job_sets, key);
        Json changed = job();
        changed["spec"]["runtimePatches"] =
            api::parse_json(R"([{"manager": "test.io/x", "trainingRuntimeSpec": {
            "template": {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": {
                "metadata": {"labels": {"new": "yes"}}}}}}]}}}}])")
                .value();
        server.put(train_jobs, std::move(changed));
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

TEST_CASE("a JobSet is written when there is none, and while it or its TrainJob is suspended", "[pass]") {
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
            for (int passes = 0; passes < 4; ++passes) life.pass();
            CHECK(life.writes_of_job_set() == row.writes);
            CHECK(life.has_change() == row.changed);
            CHECK(life.job_set()["spec"]["suspend"] == Json(row.job_suspended));
        }
    }
}

TEST_CASE("TrainJobs of one name in two namespaces have nothing to do with each other", "[pass]") {
    Life life;
    Json there = api::parse_json(job_text).value();
    there["metadata"]["namespace"] = "elsewhere";
    there["spec"]["trainer"]["numNodes"] = 7;
    life.server.put(train_jobs, std::move(there));
    life.server.put(job_sets, api::parse_json(R"({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
        "metadata": {"name": "job", "namespace": "elsewhere"}, "spec": {"suspend": false}})")
                                  .value());
    const Json before = *life.server.find(job_sets, {"elsewhere", "job"});
    life.pass();
    CHECK(life.condition("Created") == "True/JobsCreationSucceeded");
    CHECK(std::as_const(life.job_set())["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] == 2);
    CHECK(*life.server.find(job_sets, {"elsewhere", "job"}) == before);
}

}  // namespace
}  // namespace reconciler
