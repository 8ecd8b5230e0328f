#include "lifecycle/stopping.hpp"

#include "api/json.hpp"
#include "objects.hpp"
#include "support/printers.hpp"

namespace lifecycle {
namespace {

api::Json job(const char* name, const char* status, bool suspend = true, const char* owner = "job-set-1") {
    api::Json made;
    made["metadata"] = api::Json::object({{"name", name}, {"namespace", "default"}, {"uid", name}});
    made["metadata"]["ownerReferences"] =
        api::Json::array({api::Json::object({{"uid", owner}, {"controller", true}})});
    made["spec"]["suspend"] = suspend;
    made["status"] = api::parse_json(status).value();
    return made;
}

// Each change of `spec.suspend` is a new generation.
api::Json resumed_before(api::Json job) {
    job["metadata"]["generation"] = 3;
    return job;
}
api::Json managed(api::Json job) {
    job["spec"]["managedBy"] = "example.com/jobs";
    return job;
}

const char* const has_run = R"({"conditions": [{"type": "Suspended", "status": "True"}]})";

}  // namespace

TEST_CASE("a Job is at rest once it has no Pod that is active or terminating", "[stopping]") {
    struct Row {
        const char* name;
        api::Json job;
        std::int64_t pods;
        bool stops;
    };
    const Row rows[] = {
        {"it has never run", job("a", "{}"), 0, false},
        {"its Pods have ended", resumed_before(job("a", has_run)), 0, false},
        {"its first Pods are being made, and its status does not show them yet",
         resumed_before(job("a", "{}")), 0, true},
        {"another controller manages it, and has set no condition", managed(resumed_before(job("a", "{}"))),
         0, false},
        {"it has been resumed before, and its Pods have not been told to end yet",
         resumed_before(job("a", R"({"conditions": [{"type": "Suspended", "status": "False"}]})")), 0, true},
        {"JobSet has not suspended it yet", job("a", "{}", false), 0, true},
        {"its Pods run", job("a", R"({"active": 2})", false), 2, true},
        {"its Pods end",
         job("a",
             R"({"active": 0, "terminating": 3, "conditions": [{"type": "Suspended", "status": "True"}]})"),
         3, true},
        {"it has completed", job("a", R"({"conditions": [{"type": "Complete", "status": "True"}]})", false),
         0, false},
        {"it has failed, and another Pod of it ends",
         job("a", R"({"terminating": 1, "conditions": [{"type": "Failed", "status": "True"}]})", false), 1,
         true},
        {"it belongs to an earlier JobSet", job("a", R"({"active": 1})", false, "another"), 0, false},
    };
    for (const Row& row : rows) {
        INFO(row.name);
        const Stopping found = stopping(*running().job_set, {row.job});
        CHECK((found.jobs > 0) == row.stops);
        CHECK(found.pods == row.pods);
        CHECK(found.first.starts_with("Job default/a") == row.stops);
    }
}

TEST_CASE("what a resume waits for is named", "[stopping]") {
    const Stopping all =
        stopping(*running().job_set, {job("job-node-0", R"({"terminating": 2})"), job("x", has_run),
                                      job("job-node-1", R"({"terminating": 1})")});
    CHECK(describe(all) ==
          "The job goes on once its Pods of before have ended: 3 of Job default/job-node-0, and of 1 more");
    CHECK(describe(stopping(*running().job_set, {job("a", R"({"active": 1})", false)})) ==
          "The job goes on once its Pods of before have ended: 1 of Job default/a, which its JobSet has not "
          "suspended yet");
    CHECK(describe({.jobs = 1, .first = "Job default/a"}) ==
          "The job goes on once its Pods of before have ended: Job default/a");
    CHECK(stops_first(*running().job) ==
          "The job goes on once its Pods of before have ended: kubectl get pods -n default -l "
          "jobset.sigs.k8s.io/jobset-name=job");
}

TEST_CASE("the Pods that do not run again are counted by job, for each Job that has such", "[stopping]") {
    const auto of = [](const char* replicated_job, api::Json job) {
        job["metadata"]["labels"]["jobset.sigs.k8s.io/replicatedjob-name"] = replicated_job;
        return job;
    };
    const auto deleted = [](api::Json job) {
        job["metadata"]["deletionTimestamp"] = "2026-01-15T00:00:00Z";
        return job;
    };
    constexpr auto all = std::numeric_limits<std::int64_t>::max();
    const std::vector<api::Json> jobs = {
        of("node", job("job-node-0", R"({"succeeded": 2})")),
        of("node", job("job-node-1", R"({"active": 3})")),
        of("node", job("job-node-2", R"({"succeeded": 1, "uncountedTerminatedPods": {"succeeded": ["a"]}})")),
        of("node", job("job-node-3", R"({"succeeded": 1, "failedIndexes": "0,2-4,9"})")),
        of("node", deleted(job("job-node-4", R"({"succeeded": 5})"))),
        of("done",
           job("job-done-0", R"({"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]})")),
        of("launcher", job("job-launcher-0", "{}")),
        of("launcher", job("job-launcher-1", R"({"succeeded": 5})", true, "job-set-of-another"))};
    CHECK(done_pods(*running().job_set, jobs) == api::DonePods{{"done", {all}}, {"node", {2, 2, 6}}});
}

TEST_CASE("the pause between two looks at Pods that end grows from a second to a minute", "[stopping]") {
    RetryState waits;
    CHECK(next_look_at_stopping(waits, start + 1h) == 1s);
    waits.stall = Stall{.reason = api::reason::waiting_for_pods, .since = start};
    CHECK(next_look_at_stopping(waits, start) == 1s);
    CHECK(next_look_at_stopping(waits, start + 20s) == 5s);
    CHECK(next_look_at_stopping(waits, start + 4min) == 10s);
    CHECK(next_look_at_stopping(waits, start + 10min) == 60s);
    CHECK(next_look_at_stopping(waits, start - 5s) == 1s);
    waits.stall->reason = api::reason::jobs_not_created;
    CHECK(next_look_at_stopping(waits, start + 10min) == 1s);
}

}  // namespace lifecycle
