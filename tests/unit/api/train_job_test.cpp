#include "api/train_job.hpp"

#include <catch2/catch.hpp>

#include "support/printers.hpp"

using namespace api;

namespace {

TrainJob train_job(std::string_view text) {
    const auto object = parse_json(text);
    REQUIRE(object);
    return parse_train_job(*object);
}

}  // namespace

TEST_CASE("a TrainJob is read", "[api]") {
    const TrainJob job = train_job(R"({
        "metadata": {"name": "job", "namespace": "team", "labels": {"kueue.x-k8s.io/queue-name": "q",
                                                                  "kueue.x-k8s.io/multikueue-origin": "m"}},
        "spec": {"runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": "mine"},
                 "suspend": true, "activeDeadlineSeconds": 3600, "managedBy": "kueue.x-k8s.io/multikueue",
                 "trainer": {"numNodes": 4}},
        "status": {"conditions": [{"type": "Suspended", "status": "True"}],
                   "jobsStatus": [{"name": "node", "ready": 4}]}})");
    CHECK(to_string(job.meta.key()) == "team/job");
    CHECK(job.runtime_ref ==
          RuntimeRef{.api_group = "trainer.kubeflow.org", .kind = "TrainingRuntime", .name = "mine"});
    CHECK(job.suspend);
    CHECK(job.active_deadline_seconds == 3600);
    CHECK(job.managed_by == "kueue.x-k8s.io/multikueue");
    CHECK(job.queue == "q");
    CHECK(job.is_multikueue_copy);
    CHECK(job.spec["trainer"]["numNodes"] == Json(4));
    CHECK(is_true(job.conditions, condition::suspended));
    CHECK(job.jobs_status == std::vector<JobStatus>{{.name = "node", .ready = 4}});
}

TEST_CASE("a TrainJob of any shape is read, with the defaults of its schema", "[api]") {
    for (
        const char* text :
        {"null", "{}", R"({"spec": null, "status": null})", R"({"spec": [], "status": "x"})",
         R"({"spec": {"runtimeRef": null, "suspend": null, "activeDeadlineSeconds": null, "managedBy": null}})",
         R"({"spec": {"runtimeRef": "x", "suspend": "true", "activeDeadlineSeconds": "60", "managedBy": 3}})"}) {
        const TrainJob job = train_job(text);
        INFO(text);
        CHECK(job.runtime_ref ==
              RuntimeRef{.api_group = "trainer.kubeflow.org", .kind = "ClusterTrainingRuntime", .name = ""});
        CHECK_FALSE(job.suspend);
        CHECK_FALSE(job.active_deadline_seconds);
        CHECK(job.managed_by == "trainer.kubeflow.org/trainjob-controller");
        CHECK(job.queue.empty());
        CHECK_FALSE(job.is_multikueue_copy);
        CHECK(job.conditions.empty());
        CHECK(job.jobs_status.empty());
    }
}

TEST_CASE("a TrainJob says where it is between its attempts", "[api]") {
    const TrainJob job = train_job(R"({"status": {
        "attemptStartTime": "2026-01-15T10:00:00Z", "nextAttemptTime": "2026-01-15T10:20:00Z",
        "consecutiveFailures": 3, "consecutiveUncounted": 2,
        "failures": [{"attempt": 1, "time": "2026-01-15T10:10:00Z", "decision": "Restart", "rule": 0}]}})");
    CHECK(job.attempt == Attempt{.began = as_time("2026-01-15T10:00:00Z"),
                                 .next = as_time("2026-01-15T10:20:00Z"),
                                 .failures = 3,
                                 .uncounted_failures = 2});
    REQUIRE(job.failures.size() == 1);
    CHECK(job.failures[0].decision == FailureDecision::restart);
    CHECK(job.failures[0].rule == 0);
    for (const char* other :
         {"{}", R"({"attemptStartTime": "now", "nextAttemptTime": 3, "consecutiveFailures": -1,
                    "consecutiveUncounted": "2"})"})
        CHECK(train_job(R"({"status": )" + std::string(other) + "}").attempt == Attempt());
}

TEST_CASE("an empty string is not a default", "[api]") {
    const TrainJob job =
        train_job(R"({"spec": {"runtimeRef": {"apiGroup": "", "kind": ""}, "managedBy": ""}})");
    CHECK(job.runtime_ref.api_group.empty());
    CHECK(job.runtime_ref.kind.empty());
    CHECK(job.managed_by.empty());
}

TEST_CASE("managedBy leaves a TrainJob to this controller unless it names another", "[api]") {
    struct Case {
        const char* managed_by;
        bool is_ours;
    };
    for (const Case& c : {Case{R"("trainer.kubeflow.org/trainjob-controller")", true}, Case{R"("")", true},
                          Case{"null", true}, Case{R"("kueue.x-k8s.io/multikueue")", false},
                          Case{R"("example.com/other")", false}}) {
        INFO(c.managed_by);
        CHECK(is_managed_here(train_job(R"({"spec": {"managedBy": )" + std::string(c.managed_by) + "}}")) ==
              c.is_ours);
    }
}

TEST_CASE("the two runtime kinds of our group are supported", "[api]") {
    const std::string group = "trainer.kubeflow.org";
    CHECK(is_supported({.api_group = group, .kind = "TrainingRuntime"}));
    CHECK(is_supported({.api_group = group, .kind = "ClusterTrainingRuntime"}));
    CHECK_FALSE(is_supported({.api_group = group, .kind = "TrainJob"}));
    CHECK_FALSE(is_supported({.api_group = "", .kind = "TrainingRuntime"}));
}

TEST_CASE("a job is finished when Complete or Failed is True", "[api]") {
    TrainJob job;
    CHECK(terminal_condition(job) == nullptr);
    job.conditions = {{.type = "Created", .status = "True"}, {.type = "Failed", .status = "False"}};
    CHECK(terminal_condition(job) == nullptr);
    job.conditions[1].status = "True";
    CHECK(terminal_condition(job) == &job.conditions[1]);
    job.conditions[0].type = "Complete";
    CHECK(terminal_condition(job) == &job.conditions[0]);
}

TEST_CASE("job counts are written with their zeros and read back", "[api]") {
    const std::vector<JobStatus> jobs = {{.name = "node", .ready = 1, .active = 2}};
    const Json tree = to_json_tree(jobs);
    CHECK(to_json(tree) ==
          R"([{"active":2,"failed":0,"name":"node","ready":1,"succeeded":0,"suspended":0}])");
    CHECK(parse_jobs_status(tree) == jobs);
}

TEST_CASE("a TrainJob that is parsed from a moved object is the same", "[api]") {
    Json object =
        parse_json(R"({"metadata": {"name": "job"}, "spec": {"suspend": true, "trainer": {"numNodes": 4}}})")
            .value();
    const TrainJob copied = parse_train_job(object);
    const TrainJob taken = parse_train_job(std::move(object));
    CHECK(taken.meta.name == copied.meta.name);
    CHECK(taken.spec == copied.spec);
    CHECK(taken.suspend);
    CHECK(parse_train_job(Json("x")).spec.is_null());
}
