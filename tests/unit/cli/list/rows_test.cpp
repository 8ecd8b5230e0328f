// Rows of lists of TrainJobs, and what they are made from.
#include "list/rows.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <limits>

#include "fixtures.hpp"
#include "job/brief.hpp"

namespace cli {
namespace {

using api::Json;
using namespace std::chrono_literals;

Json job_of(const std::string& spec = "{}", const std::string& status = "{}",
            const std::string& metadata = "{}") {
    Json job =
        parsed(R"({"metadata": )" + metadata + R"(, "spec": )" + spec + R"(, "status": )" + status + "}");
    job["metadata"]["name"] = "night";
    job["metadata"]["namespace"] = "vision";
    job["metadata"]["creationTimestamp"] = "2026-01-15T11:00:00Z";
    job["spec"]["runtimeRef"]["name"] = "torch";
    return job;
}

std::string conditions(const std::string& list, const std::string& jobs = "[]") {
    return R"({"conditions": [)" + list + R"(], "jobsStatus": )" + jobs + "}";
}

std::string condition(const std::string& type, const std::string& status, const std::string& reason = "R") {
    return R"({"type": ")" + type + R"(", "status": ")" + status + R"(", "reason": ")" + reason +
           R"(", "message": "m", "lastTransitionTime": "2026-01-15T11:30:00Z"})";
}

const std::string created = condition("Created", "True");

Brief brief(const Json& job, const Runtimes& runtimes = {}) { return brief_of(job, runtimes); }

const Runtimes torch = {
    {{"", "torch"},
     runtime_summary(parsed(
         R"({"spec": {"ttlSecondsAfterFinished": 600, "mlPolicy": {"numNodes": 4}, "template": {"spec": {"replicatedJobs": [
             {"name": "dataset-initializer"},
             {"name": "node", "template": {"spec": {"template": {"spec": {"containers": [
                 {"name": "node", "resources": {"limits": {"nvidia.com/gpu": 2, "cpu": "8"}}}]}}}}}]}}}})"))}};

}  // namespace

TEST_CASE("a list has the state of a TrainJob in words", "[list]") {
    struct Row {
        const char* word;
        std::string spec;
        std::string status;
        std::string metadata = "{}";
    };
    const std::string active = R"([{"name": "node", "active": 1}])";
    const std::string ready = R"([{"name": "node", "active": 1, "ready": 1}])";
    const std::string suspended = condition("Suspended", "True");
    const std::string restarting = condition("Restarting", "True", "BackingOff");
    const Row rows[] = {
        {"not looked at yet", "{}", "{}"},
        {"cannot be created", "{}", conditions(condition("Created", "False", "JobsBuildFailed"))},
        {"not created yet, retried", "{}", conditions(condition("Created", "Unknown"))},
        {"waits for its Pods", "{}", conditions(created)},
        {"waits for its Pods", "{}", conditions(created, active)},
        {"running", "{}", conditions(created, ready)},
        {"stalled", "{}", conditions(created + "," + condition("Stalled", "True"), active)},
        {"restarting", "{}", conditions(created + "," + restarting)},
        {"suspending", R"({"suspend": true})", conditions(created + "," + restarting)},
        {"suspended", R"({"suspend": true})", conditions(created + "," + restarting + "," + suspended)},
        {"cannot be created", "{}", conditions(condition("Created", "False") + "," + restarting)},
        {"suspended", R"({"suspend": true})", conditions(created + "," + suspended)},
        {"queued", R"({"suspend": true})", conditions(suspended),
         R"({"labels": {"kueue.x-k8s.io/queue-name": "team"}})"},
        {"resuming", "{}", conditions(created + "," + suspended)},
        {"suspending", R"({"suspend": true})", conditions(created, ready)},
        {"complete", "{}", conditions(created + "," + condition("Complete", "True"))},
        {"failed", "{}", conditions(condition("Failed", "True"))},
        {"managed by another controller", R"({"managedBy": "kueue.x-k8s.io/multikueue"})", "{}"},
        {"being deleted", "{}", conditions(created, ready),
         R"({"deletionTimestamp": "2026-01-15T11:59:00Z"})"},
    };
    for (const Row& row : rows) {
        INFO(row.status);
        CHECK(brief(job_of(row.spec, row.status, row.metadata)).state.word == row.word);
    }
}

TEST_CASE("nodes and GPUs come from the TrainJob, else from its runtime", "[list]") {
    const std::string two =
        R"({"trainer": {"numNodes": 2, "resourcesPerNode": {"limits": {"nvidia.com/gpu": "8"}}}})";
    CHECK(brief(job_of(two)).nodes.wanted == 2);
    CHECK(brief(job_of(two)).gpus == 16);
    CHECK(brief(job_of(), torch).nodes.wanted == 4);
    CHECK(brief(job_of(), torch).gpus == 8);
    CHECK(brief(job_of(two), torch).gpus == 16);
    CHECK(brief(job_of()).nodes.wanted == 1);
    CHECK(brief(job_of()).gpus == 0);
    const auto gpus = [](const std::string& limits) {
        return brief(
                   job_of(R"({"trainer": {"numNodes": 2, "resourcesPerNode": {"limits": )" + limits + "}}}"))
            .gpus;
    };
    CHECK(gpus(R"({"amd.com/gpu": 1, "nvidia.com/gpu": 2, "cpu": 1})") == 6);
    CHECK(gpus(R"({"volcano.sh/vgpu-number": 1, "volcano.sh/vgpu-cores": 50})") == 2);
    CHECK(gpus(R"({"aliyun.com/gpu-mem": 15})") == 2);
    CHECK(gpus(R"({"google.com/tpu": 4})") == 8);
    CHECK(gpus(R"({"habana.ai/gaudi": 8})") == 16);
    CHECK(gpus(R"({"nvidia.com/gpu": "many"})") == 0);
    // The largest number instead of an overflow.
    CHECK(gpus(R"({"nvidia.com/gpu": "9223372036854775807"})") == std::numeric_limits<std::int64_t>::max());
    CHECK(gpus(R"({"nvidia.com/gpu": "9223372036854775807", "google.com/tpu": "9223372036854775807"})") ==
          std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("a runtime of the namespace is not the one for all of the same name", "[list]") {
    CHECK(brief(job_of(R"({"runtimeRef": {"kind": "TrainingRuntime"}})"), torch).gpus == 0);
}

TEST_CASE("ready nodes are read from the status, and of new jobs from their Jobs", "[list]") {
    struct Row {
        const char* name;
        std::string spec;
        std::string jobs;
        std::optional<std::int64_t> ready;
        bool needs_pods;
    };
    const std::string four = R"({"trainer": {"numNodes": 4}})";
    const Row rows[] = {
        {"all", four, R"([{"name": "node", "active": 1, "ready": 1}])", 4, false},
        {"not all", four, R"([{"name": "node", "active": 1}])", {}, true},
        {"of one node", "{}", R"([{"name": "node", "active": 1}])", 0, true},
        {"none made yet", four, R"([{"name": "node"}])", 0, false},
        {"after initializers", four,
         R"([{"name": "dataset-initializer", "succeeded": 1}, {"name": "node", "active": 1, "ready": 1}])", 4,
         false},
        {"beside initializers", four,
         R"([{"name": "dataset-initializer", "active": 1, "ready": 1}, {"name": "node"}])", 0, true},
        {"a launcher without its nodes",
         four,
         R"([{"name": "launcher", "active": 1, "ready": 1}, {"name": "node", "active": 1}])",
         {},
         true},
    };
    for (const Row& row : rows) {
        INFO(row.name);
        const Brief seen = brief(job_of(row.spec, conditions(created, row.jobs)));
        CHECK(seen.nodes.ready == row.ready);
        CHECK(seen.needs_pods == row.needs_pods);
    }
    CHECK_FALSE(brief(job_of(four)).nodes.ready);
    Brief begins = brief(job_of(four, conditions(created, R"([{"name": "node", "active": 1}])")));
    CHECK(begins.state.word == "waits for its Pods");
    set_pods(begins, {.what = PodsDo::run, .is_read = true, .ready = 3});
    CHECK(begins.nodes.ready == 3);
    CHECK(begins.state.word == "running");
}

TEST_CASE("a list tells what Pods do behind a state", "[list]") {
    Brief fails = brief(job_of("{}", conditions(created, R"([{"name": "node", "active": 1, "ready": 1}])")));
    CHECK(fails.seems_ready);
    set_pods(fails, {.what = PodsDo::fail, .is_read = true, .detail = "3 of 6, exit code 1"});
    CHECK(list_table(std::vector<Brief>{fails}, now, {})
              .str()
              .find("fails and is retried, 3 of 6, exit code 1") != std::string::npos);
    CHECK(list_row(fails)["state"].as_string() == "fails and is retried");
    CHECK(list_row(fails)["detail"].as_string() == "3 of 6, exit code 1");
    Brief late =
        brief(job_of("{}", conditions(created + "," + condition("Failed", "True", "DeadlineExceeded"))));
    CHECK(late.stopped == now - 30min);
    CHECK_FALSE(list_row(late).contains("detail"));
    set_pods(late, {.is_read = true, .unfinished = 1, .ending = 1, .grace_ends = now + 30s});
    CHECK(list_row(late)["detail"].as_string() == "stopping: 1 of 1 Pod within its grace");
    CHECK(list_row(late)["graceEnds"].as_string() == "2026-01-15T12:00:30Z");
    const std::string table = list_table(std::vector<Brief>{late}, now + 20s, {}).str();
    CHECK(table.find("   failed, stopping: 1 of 1 Pod within its grace (10s left)   ") != std::string::npos);
}

TEST_CASE("the nodes of a runtime tell how many Pods a job had that stops", "[list]") {
    Brief held = brief(job_of(R"({"suspend": true})", conditions(condition("Suspended", "True"))), torch);
    set_pods(held, {.is_read = true, .unfinished = 3, .ending = 3, .grace_ends = now + 25s});
    CHECK(text_of(held.state, now) == "suspended, stopping: 3 of 4 Pods within their grace (25s left)");
}

TEST_CASE("Pods are looked at from when they are to end", "[list]") {
    const std::string restarting = condition("Restarting", "True", "BackingOff");
    CHECK(brief(job_of("{}", conditions(created + "," + restarting))).stopped == now - 30min);
    CHECK(brief(job_of("{}", conditions(created), R"({"deletionTimestamp": "2026-01-15T11:59:00Z"})"))
              .stopped == now - 1min);
    CHECK(brief(job_of(R"({"suspend": true})", conditions(condition("Suspended", "True")))).stopped ==
          now - 30min);
    // A resumed one waits for its Pods of before.
    CHECK(brief(job_of("{}", conditions(created + "," + condition("Suspended", "False")))).stopped ==
          now - 30min);
    CHECK_FALSE(brief(job_of("{}", conditions(created))).stopped);
}

TEST_CASE("a list tells which attempt comes next, and why", "[list]") {
    Json job = job_of("{}", conditions(created + "," + condition("Restarting", "True", "BackingOff")));
    Json& status = job["status"];
    status["restarts"] = 2;
    status["nextAttemptTime"] = "2026-01-15T12:00:08Z";
    status["failures"] = failures();
    status["conditions"].items()[1]["message"] =
        "attempt 2 begins at 2026-01-15T12:00:08Z. " +
        std::string(failed_message).substr(std::string(failed_message).find("The first"));
    Brief between = brief(job);
    // The Pods of the attempt before say nothing of the next one.
    set_pods(between, {.what = PodsDo::fail, .is_read = true, .detail = "once, exit code 1"});
    const std::string wide = list_table(std::vector<Brief>{between}, now, {.wide = true}).str();
    CHECK(wide.find("   restarting, attempt 2   ") != std::string::npos);
    CHECK(wide.find("   BackingOff   Pod night-node-0-3-x on node gpu-17: OOMKilled") != std::string::npos);
    const Json row = list_row(between);
    CHECK(row["state"] == "restarting");
    CHECK(row["detail"] == "attempt 2");
    CHECK(row["nextAttempt"] == "2026-01-15T12:00:08Z");
    status["conditions"].items().pop_back();
    CHECK_FALSE(list_row(brief(job)).contains("nextAttempt"));
}

TEST_CASE("the message of a wide list is the Pod that failed first, where that ended the job", "[list]") {
    Json job = job_of("{}", conditions(created + "," + condition("Failed", "True", "FailedJobs")));
    const auto wide = [&job](const char* message) {
        job["status"]["conditions"].items()[1]["message"] = message;
        return list_table(std::vector<Brief>{brief(job)}, now, {.wide = true}).str();
    };
    CHECK(wide(failed_message).ends_with("   FailedJobs   " + std::string(failed_message) + "\n"));
    job["status"]["failures"] = failures();
    CHECK(wide(failed_message)
              .ends_with("   FailedJobs   Pod night-node-0-3-x on node gpu-17: OOMKilled, exit code 137: "
                         "\"killed at step 40\"; 7 more Pods failed\n"));
    CHECK(list_row(brief(job))["message"] == failed_message);
    // Another end after an earlier failure.
    const char* other = "TrainJob ran for longer than its deadline";
    CHECK(wide(other).ends_with("   " + std::string(other) + "\n"));
}

TEST_CASE("a running job has a deadline, an ended one a time to live", "[list]") {
    const Brief runs = brief(job_of(R"({"activeDeadlineSeconds": 7200})", conditions(created)), torch);
    CHECK(runs.deadline == now + 1h);
    CHECK_FALSE(runs.expires);
    Json end = job_of(R"({"activeDeadlineSeconds": 7200})", conditions(condition("Failed", "True")));
    const Brief unknown = brief(end, torch);
    CHECK_FALSE(unknown.deadline);
    CHECK(unknown.end == now - 30min);
    CHECK_FALSE(unknown.expires);  // its status does not tell what it began with
    end["status"]["runPolicy"]["ttlSecondsAfterFinished"] = 300;
    CHECK(brief(end, torch).expires == now - 20min);
    CHECK(brief(end).expires == now - 25min);
    end["spec"]["ttlSecondsAfterFinished"] = 60;
    CHECK(brief(end, torch).expires == now - 29min);
}

TEST_CASE("the deadline of a runtime is that of a job that began with it", "[list]") {
    Json job = job_of("{}", conditions(created));
    CHECK_FALSE(brief(job, torch).deadline);
    job["status"]["runPolicy"]["activeDeadlineSeconds"] = 7200;
    CHECK(brief(job, torch).deadline == now + 1h);
    Runtimes limited = torch;
    limited.begin()->second.policy.max_active_deadline_seconds = 3660;
    CHECK(brief(job, limited).deadline == now + 1h);
    CHECK(brief(job_of(), limited).deadline == now + 1min);
}

TEST_CASE("the remaining time of the training is counted from its report", "[list]") {
    const Progress progress = progress_of(parsed(
        R"({"status": {"trainerStatus": {"progressPercentage": 40, "estimatedRemainingSeconds": 600, "lastUpdatedTime": "2026-01-15T11:55:00Z"}}})"));
    CHECK(progress.percent == 40);
    CHECK(remaining_time(progress, now) == 5min);
    CHECK(remaining_time(progress, now + 1h) == 0s);
    CHECK_FALSE(remaining_time(progress_of(Json()), now));
}

TEST_CASE("a table for a pipe has all columns, and one for a terminal those with values", "[list]") {
    Json job = job_of(R"({"trainer": {"numNodes": 2}})",
                      conditions(created, R"([{"name": "node", "active": 1, "ready": 1}])"));
    job["status"]["trainerStatus"] = parsed(
        R"({"progressPercentage": 40, "estimatedRemainingSeconds": 600, "lastUpdatedTime": "2026-01-15T11:55:00Z"})");
    const std::vector<Brief> jobs = {brief(job)};
    CHECK(list_table(jobs, now, {.namespaces = true}).str() ==
          "NAMESPACE   NAME    STATE     PROGRESS   ETA   NODES   GPUS   AGE   DEADLINE   TTL   QUEUE\n"
          "vision      night   running   40%        5m    2/2     -      1h    -          -     -\n");
    const TableStyle screen = {.terminal = {.is_terminal = true, .columns = 80}};
    CHECK(list_table(jobs, now, screen).str() ==
          "NAME    STATE     PROGRESS         ETA   NODES   AGE\n"
          "night   running   ####...... 40%   5m    2/2     1h\n");
    CHECK(list_table(jobs, now + 1h, screen).str().find("40% stale") != std::string::npos);
    CHECK(list_table(jobs, now, {.wide = true, .heading = false}).str().ends_with("torch     R        m\n"));
}

TEST_CASE("a row for programs has points in time, and only known values", "[list]") {
    Json job = job_of("{}", conditions(created + "," + condition("Complete", "True", "AllJobsCompleted")));
    job["status"]["runPolicy"]["ttlSecondsAfterFinished"] = 600;
    const Brief ended = brief(job, torch);
    CHECK(
        api::to_json(list_row(ended)) ==
        R"({"created":"2026-01-15T11:00:00Z","ended":"2026-01-15T11:30:00Z","expires":"2026-01-15T11:40:00Z","gpus":8,"message":"m",)"
        R"("name":"night","namespace":"vision","nodes":{"wanted":4},"reason":"AllJobsCompleted",)"
        R"("runtime":{"kind":"ClusterTrainingRuntime","name":"torch"},"state":"complete","uid":""})");
    CHECK(list_names(std::vector<Brief>{ended}).str() == "trainjob.trainer.kubeflow.org/night\n");
    CHECK(api::to_json(list_document({})) == R"({"items":[]})");
}

TEST_CASE("any shape of a TrainJob makes a row, with the beginning of its message", "[list]") {
    for (const char* text : {"null", "[]", "{}", "7", R"({"metadata": 1, "spec": [], "status": "x"})"})
        CHECK_FALSE(list_table(std::vector<Brief>{brief(parsed(text))}, now, {}).empty());
    Json long_one = job_of("{}", conditions(condition("Created", "False")));
    long_one["status"]["conditions"].items()[0]["message"] =
        std::string(499, 'x') + "ü" + std::string(99, 'x');
    CHECK(brief(long_one).message == std::string(499, 'x'));
}

}  // namespace cli
