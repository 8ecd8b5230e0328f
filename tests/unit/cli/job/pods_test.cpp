// What the Pods of a TrainJob do, and the state of the TrainJob by it.
#include "job/pods.hpp"

#include <catch2/catch.hpp>

#include "fixtures.hpp"
#include "job/findings.hpp"
#include "job/job_state.hpp"

namespace cli {
namespace {

using api::Json;
using namespace std::chrono_literals;

std::string ago(std::chrono::seconds time) { return '"' + api::format_time(now - time) + '"'; }

// A Pod of node-0 that was created an hour ago. `rest`: members of its status besides the phase.
Json pod(const std::string& phase, const std::string& rest = "", const std::string& index = "0") {
    Json made = parsed(R"({"status": {"phase": ")" + phase + "\"" + (rest.empty() ? "" : ", " + rest) + "}}");
    Json& meta = made["metadata"];
    meta["name"] = "night-node-0-" + index + "-x";
    meta["namespace"] = "vision";
    meta["creationTimestamp"] = api::format_time(now - 1h);
    meta["labels"] =
        parsed(R"({"jobset.sigs.k8s.io/jobset-name": "night", "jobset.sigs.k8s.io/replicatedjob-name": "node",
                               "batch.kubernetes.io/job-name": "night-node-0"})");
    meta["labels"]["batch.kubernetes.io/job-completion-index"] = index;
    made["spec"]["nodeName"] = "n1";
    return made;
}

std::string container(int restarts, const std::string& state, const std::string& last = "{}") {
    return R"("containerStatuses": [{"name": "node", "ready": true, "restartCount": )" +
           std::to_string(restarts) + R"(, "state": )" + state + R"(, "lastState": )" + last + "}]";
}

std::string waiting(const std::string& reason) { return R"({"waiting": {"reason": ")" + reason + "\"}}"; }

std::string running_for(std::chrono::seconds time) {
    return R"({"running": {"startedAt": )" + ago(time) + "}}";
}

// An attempt that took `lasted` and ended just now.
std::string ended(int code, const std::string& reason = "Error", std::chrono::seconds lasted = 4s) {
    return R"({"terminated": {"exitCode": )" + std::to_string(code) + R"(, "reason": ")" + reason +
           R"(", "startedAt": )" + ago(lasted) + R"(, "finishedAt": )" + ago(0s) + "}}";
}

PodsState state_of(const std::vector<Json>& pods, const BackoffLimits& limits = {{"night-node-0", 6}},
                   const NodeObjects& nodes = {}) {
    std::vector<PodFacts> facts;
    for (const Json& each : pods) facts.push_back(pod_facts(each, now, nodes));
    return pods_state(std::move(facts), now - 2h, limits, now);
}

std::string words_of(const std::vector<Json>& pods) {
    return text_of(activity_of({.state = lifecycle::State::running}, state_of(pods)), now);
}

Json stopping(std::chrono::seconds ends_in, int grace = 30) {
    Json made = pod("Running");
    made["metadata"]["deletionTimestamp"] = api::format_time(now + ends_in);
    made["metadata"]["deletionGracePeriodSeconds"] = grace;
    return made;
}

// The node has died: the cluster takes the readiness of the Pod away, and nobody that of its container.
Json silent() {
    return pod("Running", R"("conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": )" +
                              ago(3min) + "}], " + container(0, running_for(1h)));
}

Json node(const std::string& ready, const std::string& message = "") {
    return parsed(R"({"status": {"conditions": [{"type": "Ready", "status": ")" + ready +
                  R"(", "message": ")" + message + R"(", "lastTransitionTime": )" + ago(2min) + "}]}}");
}

}  // namespace

TEST_CASE("the state of a running job is what its Pods do", "[pods]") {
    struct Row {
        const char* words;
        std::vector<Json> pods;
    };
    const std::string crash_loop = container(3, waiting("CrashLoopBackOff"), ended(1));
    const Row rows[] = {
        {"waits for its Pods", {}},
        {"waits for its Pods", {pod("Pending")}},
        {"waits for its Pods", {pod("Pending", container(0, waiting("ContainerCreating")))}},
        {"running", {pod("Running", container(0, running_for(1h)))}},
        {"running", {pod("Running"), pod("Pending", "", "1")}},
        {"running", {pod("Succeeded"), pod("Pending", "", "1")}},
        {"fails and is retried, 3 of 6, exit code 1", {pod("Running", crash_loop)}},
        {"fails and is retried, 3 of 6, exit code 1",
         {pod("Running", container(3, running_for(2s), ended(1)))}},
        {"fails and is retried, 3 of 6, exit code 1", {pod("Running", container(3, ended(1)))}},
        {"fails and is retried, exit code 1", {pod("Running", container(0, ended(1)))}},
        {"fails and is retried, 2 of 6, OOMKilled, exit code 137",
         {pod("Running", container(2, waiting("CrashLoopBackOff"), ended(137, "OOMKilled")))}},
        {"fails and is retried, 3 of 6, exit code 1",
         {pod("Running", container(0, running_for(1h)), "1"), pod("Running", crash_loop)}},
        {"cannot start, its image cannot be pulled", {pod("Pending", container(0, waiting("ErrImagePull")))}},
        {"cannot start, its image cannot be pulled",
         {pod("Pending", container(0, waiting("ImagePullBackOff")))}},
        {"cannot start, CreateContainerConfigError",
         {pod("Pending", container(0, waiting("CreateContainerConfigError"))),
          pod("Running", crash_loop, "1")}},
        {"cannot start, its command cannot be run",
         {pod("Running", container(1, waiting("CrashLoopBackOff"), ended(128, "StartError")))}},
        {"lost a node, n1", {silent(), pod("Running", crash_loop, "1")}},
    };
    for (const Row& row : rows) {
        INFO(row.words);
        CHECK(words_of(row.pods) == row.words);
    }
}

TEST_CASE("a restarted program runs again once it has run for longer than the attempt before", "[pods]") {
    const std::string failed_fast = ended(1, "Error", 4s);
    const std::string failed_late = ended(1, "Error", 10h);
    CHECK(words_of({pod("Running", container(1, running_for(50s), failed_fast))}).starts_with("fails"));
    CHECK(words_of({pod("Running", container(1, running_for(65s), failed_fast))}) == "running");
    CHECK(words_of({pod("Running", container(1, running_for(4min), failed_late))}).starts_with("fails"));
    CHECK(words_of({pod("Running", container(1, running_for(6min), failed_late))}) == "running");
}

TEST_CASE("the Pods that replace failed ones are further attempts", "[pods]") {
    Json failed = pod("Failed", container(0, ended(3)));
    Json next = pod("Running", container(0, running_for(2s)));
    next["metadata"]["creationTimestamp"] = api::format_time(now - 1min);
    CHECK(words_of({next, failed}) == "fails and is retried, 1 of 6, exit code 3");
    CHECK(words_of({failed}) == "fails and is retried, 1 of 6, exit code 3");
    next["status"]["containerStatuses"] =
        parsed("{" + container(0, running_for(20min)) + "}")["containerStatuses"];
    CHECK(words_of({next, failed}) == "running");
}

TEST_CASE("the exit codes of an evicted Pod follow from its eviction", "[pods]") {
    const Json evicted = pod("Failed", R"("reason": "Evicted", "message": "The node was low on memory.", )" +
                                           container(0, ended(137)));
    CHECK(words_of({evicted}) == "fails and is retried, 1 of 6, Evicted");
    CHECK(words_of({pod("Failed", R"("reason": "Evicted")")}) == "fails and is retried, 1 of 6, Evicted");
    CHECK(problem_of(evicted, now) == "Evicted: The node was low on memory.");
}

TEST_CASE("a Pod whose volumes are missing cannot start, after a while", "[pods]") {
    const auto preparing = [](std::chrono::seconds time, const std::string& phase = "Pending") {
        return pod(phase, R"("conditions": [{"type": "PodReadyToStartContainers", "status": "False",
                              "lastTransitionTime": )" +
                              ago(time) + "}], " + container(0, waiting("ContainerCreating")));
    };
    CHECK(words_of({preparing(20s)}) == "waits for its Pods");
    CHECK(problem_of(preparing(20s), now).empty());
    CHECK(words_of({preparing(31s)}) == "cannot start, its volumes or its network are not ready");
    CHECK(problem_of(preparing(31s), now) == "its volumes or its network are not ready");
    // It has neither any more.
    CHECK(words_of({preparing(1h, "Succeeded")}) == "running");
    Json unscheduled = preparing(1h);
    unscheduled["spec"].erase("nodeName");
    CHECK(words_of({unscheduled}) == "waits for its Pods");

    const auto event = [](const char* reason, const char* message, std::chrono::seconds time) {
        return Json::object({{"involvedObject", Json::object({{"uid", "u"}})},
                             {"reason", reason},
                             {"message", message},
                             {"lastTimestamp", api::format_time(now - time)}});
    };
    Json mounts = preparing(5s);
    mounts["metadata"]["uid"] = "u";
    const std::vector<Json> events = {event("FailedMount", "secret a", 2s),
                                      event("FailedMount", "secret b", 1s), event("Unhealthy", "no", 0s)};
    CHECK(problem_of(mounts, now, {}, events) == "FailedMount: secret b");
    mounts["metadata"]["uid"] = "another";
    CHECK(problem_of(mounts, now, {}, events).empty());
}

TEST_CASE("without a limit only the tries are counted", "[pods]") {
    const std::vector<Json> pods = {pod("Running", container(3, waiting("CrashLoopBackOff"), ended(1)))};
    CHECK(state_of(pods, {}).detail == "3 times, exit code 1");
    CHECK(state_of(pods, {{"night-node-0", 2'147'483'647}}).detail == "3 times, exit code 1");
    CHECK(state_of({pod("Failed", container(0, ended(1)))}, {{"night-node-0", 0}}).detail ==
          "once, exit code 1");
}

TEST_CASE("Pods without numbers each count for themselves", "[pods]") {
    Json fails = pod("Running", container(3, waiting("CrashLoopBackOff"), ended(1)), "");
    fails["metadata"]["name"] = "a";
    Json runs = pod("Running", "", "");
    runs["metadata"]["creationTimestamp"] = api::format_time(now - 1min);
    CHECK(words_of({fails, runs}) == "fails and is retried, 3 of 6, exit code 1");
    Json failed = pod("Failed", container(0, ended(1)), "");
    failed["metadata"]["name"] = "b";
    CHECK(words_of({failed, runs}) == "running");
}

TEST_CASE("the Pods of an earlier job of the name count for nothing", "[pods]") {
    Json old = pod("Running");
    old["metadata"]["creationTimestamp"] = api::format_time(now - 3h);
    CHECK(state_of({old}).unfinished == 0);
    CHECK(state_of({old}).what == PodsDo::wait);
}

TEST_CASE("a job stops until the last of its Pods has ended", "[pods]") {
    using enum lifecycle::State;
    struct Row {
        const char* words;
        JobStage job;
        std::vector<Json> pods;
    };
    const JobStage held = {.state = suspended, .suspend = true, .nodes = 4};
    const std::vector<Json> three = {stopping(20s), stopping(25s), stopping(5s)};
    const Row rows[] = {
        {"suspended", held, {}},
        {"suspended", held, {pod("Failed"), pod("Succeeded")}},
        {"suspended, stopping: 3 of 4 Pods within their grace (25s left)", held, three},
        {"suspended, stopping: 1 of 4 Pods within its grace (20s left)",
         held,
         {stopping(20s), pod("Failed")}},
        {"suspended, stopping: 2 of 4 Pods still run", held, {pod("Running"), pod("Pending")}},
        {"suspended, stopping: 2 of 4 Pods within their grace (9m 50s left)",
         held,
         {stopping(590s, 600), pod("Running")}},
        {"queued, stopping: 3 of 3 Pods within their grace (25s left)",
         {.state = suspended, .suspend = true, .is_queued = true},
         three},
        {"resuming, stopping: 3 of 4 Pods within their grace (25s left)",
         {.state = suspended, .nodes = 4},
         three},
        {"failed, stopping: 1 of 1 Pod within its grace (20s left)", {.state = failed}, {stopping(20s)}},
        {"complete, stopping: 1 of 2 Pods within its grace (20s left)",
         {.state = complete, .nodes = 2},
         {stopping(20s), pod("Succeeded")}},
        // Its node may take some seconds to say that they have ended.
        {"failed, stopping: 1 of 1 Pod within its grace (0s left)", {.state = failed}, {stopping(-10s)}},
        {"failed, stopping: 1 of 1 Pod past its grace", {.state = failed}, {stopping(-16s)}},
        {"failed, stopping: 2 of 2 Pods past their grace",
         {.state = failed},
         {stopping(-5min), stopping(-6min)}},
        {"failed, stopping: 2 of 2 Pods within their grace (5s left)",
         {.state = failed},
         {stopping(5s), stopping(-5min)}},
    };
    for (const Row& row : rows) {
        INFO(row.words);
        CHECK(text_of(activity_of(row.job, state_of(row.pods)), now) == row.words);
    }
    CHECK(state_of({stopping(20s)}).names == std::vector<std::string>{"night-node-0-0-x on n1"});
}

TEST_CASE("of a job that does not stand still, Pods stop that were told to end", "[pods]") {
    using enum lifecycle::State;
    const std::vector<Json> pods = {stopping(20s), pod("Running"), pod("Running")};
    const auto words = [&](JobStage job, const std::vector<Json>& of) {
        job.nodes = 3;
        return text_of(activity_of(job, state_of(of)), now);
    };
    const JobStage between = {.state = running, .next_attempt = 2};
    const std::string stops = "stopping: 1 of 3 Pods within its grace (20s left)";
    CHECK(words(between, pods) == "restarting, attempt 2, " + stops);
    CHECK(words({.state = running, .is_deleted = true}, pods) == "being deleted, " + stops);
    CHECK(words({.state = running, .suspend = true}, pods) == "suspending, " + stops);
    // Those of the next attempt.
    CHECK(words(between, {pod("Running"), pod("Pending")}) == "restarting, attempt 2");
    CHECK(words({.state = running, .is_deleted = true}, {pod("Running")}) == "being deleted");
    // Of a drained node; the job goes on.
    CHECK(words({.state = running}, pods) == "running");
    // A resumed job has no others yet.
    CHECK(words({.state = running}, {stopping(20s)}) == "waits for its Pods, " + stops);
}

TEST_CASE("what is kept of a stop has no time that passes", "[pods]") {
    const auto state = [](const std::vector<Json>& pods) {
        return activity_of({.state = lifecycle::State::failed}, state_of(pods));
    };
    CHECK(detail_of(state({stopping(20s)})) == "stopping: 1 of 1 Pod within its grace");
    CHECK(state({stopping(20s)}).grace_ends == now + 20s);
    CHECK_FALSE(state({pod("Running")}).grace_ends);
    CHECK_FALSE(state({stopping(-5min)}).grace_ends);
    CHECK(detail_of(state({})).empty());
}

TEST_CASE("a node that does not answer is seen by its condition, else by the Pod's", "[pods]") {
    CHECK(problem_of(silent(), now) == "its node n1 does not answer for 3m");
    CHECK(problem_of(silent(), now, {{"n1", node("Unknown", "Kubelet stopped posting node status.")}}) ==
          "its node n1 does not answer for 2m: Kubelet stopped posting node status.");
    CHECK(problem_of(silent(), now, {{"n1", Json()}}) == "its node n1 does not answer: the node is gone");
    CHECK(problem_of(silent(), now, {{"n1", node("True")}}).empty());
    Json busy = silent();
    busy["status"]["containerStatuses"].items()[0]["ready"] = false;
    CHECK(problem_of(busy, now).empty());
    Json gated = silent();
    gated["spec"]["readinessGates"] = parsed(R"([{"conditionType": "x"}])");
    CHECK(problem_of(gated, now).empty());
    // After five minutes the cluster deletes the Pod, and its node does not hear of it.
    Json left = silent();
    left["metadata"]["deletionTimestamp"] = api::format_time(now + 10s);
    CHECK(words_of({left}) == "lost a node, n1");
    left["metadata"]["deletionTimestamp"] = api::format_time(now - 3min + 30s);
    CHECK(words_of({left}) == "waits for its Pods, stopping: 1 of 1 Pod past its grace");
}

TEST_CASE("a Pod has some seconds more than its grace for its end", "[pods]") {
    CHECK(problem_of(stopping(-14s), now).empty());
    CHECK(problem_of(stopping(-10min), now) ==
          "should have ended 10m ago; its node n1 does not let go of it");
}

TEST_CASE("any shape of a Pod has a state", "[pods]") {
    for (const char* text : {"null", "[]", "{}", "7", R"({"metadata": 1, "spec": [], "status": "x"})"})
        CHECK_FALSE(words_of({parsed(text), parsed(text)}).empty());
}

}  // namespace cli
