#include "lifecycle/failed_pods.hpp"

#include <catch2/catch.hpp>

#include "api/text.hpp"
#include "objects.hpp"

namespace lifecycle {
namespace {

using api::Json;

std::string at(std::chrono::seconds after) { return api::format_time(start + after); }

// A Pod of the JobSet, made ten seconds after the start, that has failed.
Json pod(int index) {
    Json pod;
    pod["metadata"]["name"] = "job-node-0-" + std::to_string(index) + "-abcde";
    pod["metadata"]["creationTimestamp"] = at(10s);
    pod["metadata"]["labels"] = Json::object({{api::job_set_uid_label, "job-set-1"},
                                              {api::replicated_job_label, "node"},
                                              {api::completion_index_label, std::to_string(index)}});
    pod["metadata"]["ownerReferences"] = Json::array({Json::object(
        {{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", "job-node-0"}, {"controller", true}})});
    pod["spec"]["nodeName"] = "gpu-" + std::to_string(index);
    pod["status"]["phase"] = "Failed";
    return pod;
}

Json container(const char* name, std::int64_t exit_code, std::chrono::seconds end,
               const char* reason = "Error", const std::string& message = "") {
    Json status = Json::object({{"name", name}});
    status["state"]["terminated"] =
        Json::object({{"exitCode", exit_code}, {"reason", reason}, {"finishedAt", at(end)}});
    if (!message.empty()) status["state"]["terminated"]["message"] = message;
    return status;
}

Json exited(int index, std::int64_t code, std::chrono::seconds end, const char* reason = "Error",
            const std::string& message = "") {
    Json failed = pod(index);
    failed["status"]["containerStatuses"] = Json::array({container("node", code, end, reason, message)});
    return failed;
}

// As a kubelet that has lost a GPU refuses a Pod: with neither conditions nor containers.
Json rejected(int index) {
    Json failed = pod(index);
    failed["status"]["reason"] = "UnexpectedAdmissionError";
    failed["status"]["message"] =
        "Pod was rejected: Allocate failed due to requested number of devices unavailable";
    return failed;
}

void disrupt(Json& pod, std::chrono::seconds when) {
    pod["status"]["conditions"] = Json::array({Json::object({{"type", "DisruptionTarget"},
                                                             {"status", "True"},
                                                             {"reason", "EvictionByEvictionAPI"},
                                                             {"lastTransitionTime", at(when)}})});
}

std::optional<FailedPod> first_pod_of(const std::vector<Json>& pods) {
    FailedPods failed(*running().job_set);
    failed.add(pods);
    return failed.first();
}

std::optional<api::Failure> first_of(const std::vector<Json>& pods) {
    const auto first = first_pod_of(pods);
    return first ? std::optional(first->failure) : std::nullopt;
}

std::string name_of_first(const std::vector<Json>& pods) {
    const auto first = first_of(pods);
    return first ? first->pod.substr(0, 12) : "none";
}

}  // namespace

TEST_CASE("the Pod that ended first is the first failure", "[failed pods]") {
    const auto first = first_of({exited(0, 1, 60s), exited(1, 1, 70s),
                                 exited(2, 42, 50s, "Error", "no such file"), exited(3, 1, 61s)});
    REQUIRE(first);
    CHECK(first->pod == "job-node-0-2-abcde");
    CHECK(first->node == "gpu-2");
    CHECK(first->replicated_job == "node");
    CHECK(first->index == 2);
    CHECK(first->container == "node");
    CHECK(first->exit_code == 42);
    CHECK(first->signal == std::nullopt);
    CHECK(first->reason == "Error");
    CHECK(first->message == "no such file");
    CHECK(first->time == start + 50s);
    CHECK(first->failed_pods == 4);
}

TEST_CASE("of Pods that ended within two seconds the one with the likelier cause is the first",
          "[failed pods]") {
    const Json error = exited(0, 1, 50s);
    const Json killed = exited(1, 139, 51s);
    const Json memory = exited(2, 137, 52s, "OOMKilled");
    Json evicted = exited(3, 137, 52s);
    evicted["status"]["reason"] = "Evicted";
    CHECK(name_of_first({error, killed}) == "job-node-0-1");
    CHECK(name_of_first({error, killed, memory}) == "job-node-0-2");
    CHECK(name_of_first({error, killed, memory, evicted}) == "job-node-0-3");
    CHECK(first_of({evicted})->reason == "Evicted");
    CHECK(first_of({evicted})->exit_code == std::nullopt);
    CHECK(first_of({evicted})->container.empty());
    CHECK(name_of_first({exited(0, 1, 49s), memory, evicted}) == "job-node-0-0");
    CHECK(name_of_first({exited(7, 1, 50s), exited(5, 1, 51s), exited(6, 1, 50s)}) == "job-node-0-6");
}

TEST_CASE("a Pod that its node has refused has a cause although no container ran", "[failed pods]") {
    const auto first = first_of({exited(0, 1, 40s), rejected(1)});
    REQUIRE(first);
    CHECK(first->pod == "job-node-0-1-abcde");
    CHECK(first->reason == "UnexpectedAdmissionError");
    CHECK(first->message.starts_with("Pod was rejected"));
    CHECK(first->time == start + 10s);
    CHECK(first->exit_code == std::nullopt);
    CHECK(first->container.empty());
}

TEST_CASE("a Pod that was told to end is no failure, unless its node had to stop it", "[failed pods]") {
    // A peer that the Job has told to end as soon as another one had failed.
    Json told = exited(1, 143, 51s);
    told["metadata"]["deletionTimestamp"] = at(80s);
    told["metadata"]["deletionGracePeriodSeconds"] = 30;
    CHECK(name_of_first({exited(0, 1, 50s), told}) == "job-node-0-0");
    CHECK(first_of({exited(0, 1, 50s), told})->failed_pods == 1);
    CHECK(name_of_first({told}) == "none");

    Json drained = told;
    disrupt(drained, 49s);
    CHECK(name_of_first({exited(0, 1, 50s), drained}) == "job-node-0-1");

    Json before = exited(1, 1, 45s);
    before["metadata"]["deletionTimestamp"] = at(80s);
    before["metadata"]["deletionGracePeriodSeconds"] = 30;
    CHECK(name_of_first({exited(0, 1, 50s), before}) == "job-node-0-1");
}

TEST_CASE("the container that ended first with an error is the one that failed", "[failed pods]") {
    Json failed = pod(0);
    failed["status"]["initContainerStatuses"] = Json::array({container("fetch", 0, 20s)});
    failed["status"]["containerStatuses"] =
        Json::array({container("helper", 0, 30s), container("log", 1, 55s), container("node", 3, 50s)});
    CHECK(first_of({failed})->container == "node");
    failed["status"]["initContainerStatuses"] = Json::array({container("fetch", 2, 20s)});
    CHECK(first_of({failed})->container == "fetch");
    CHECK(first_of({failed})->exit_code == 2);
}

TEST_CASE("a policy is asked about all containers that have ended, and about the Pod's conditions",
          "[failed pods]") {
    Json failed = pod(0);
    Json runs = Json::object({{"name", "proxy"}});
    runs["state"]["running"] = Json::object();
    failed["status"]["initContainerStatuses"] = Json::array({container("fetch", 0, 20s, "Completed")});
    failed["status"]["containerStatuses"] =
        Json::array({container("node", 3, 50s), runs, container("log", 137, 55s, "OOMKilled")});
    failed["status"]["conditions"] =
        Json::array({Json::object({{"type", "Ready"}, {"status", "False"}}),
                     Json::object({{"type", "example.com/GpuLost"}, {"status", "True"}})});
    const auto first = first_pod_of({failed});
    REQUIRE(first);
    std::string exits;
    for (const FailedPod::Exit& exit : first->exits)
        exits += exit.container + " " + std::to_string(exit.code) + " " + exit.reason + ", ";
    CHECK(exits == "fetch 0 Completed, node 3 Error, log 137 OOMKilled, ");
    CHECK(first->conditions ==
          std::vector<api::FailureRule::PodCondition>{{"Ready", "False"}, {"example.com/GpuLost", "True"}});
    CHECK(first->has_container_status);
    CHECK(first->of_node.empty());
}

TEST_CASE("the reason that a node gives is told from that of a container", "[failed pods]") {
    const auto refused = first_pod_of({rejected(0)});
    REQUIRE(refused);
    CHECK(refused->of_node == "UnexpectedAdmissionError");
    CHECK_FALSE(refused->has_container_status);
    CHECK(refused->exits.empty());
    CHECK(refused->conditions.empty());

    const auto lost_memory = first_pod_of({exited(0, 137, 50s, "OOMKilled")});
    REQUIRE(lost_memory);
    CHECK(lost_memory->of_node.empty());
    CHECK(lost_memory->failure.reason == "OOMKilled");

    // Its containers may never have run.
    Json evicted = pod(0);
    evicted["status"]["reason"] = "Evicted";
    Json waiting = Json::object({{"name", "fetch"}});
    waiting["state"]["waiting"] = Json::object();
    evicted["status"]["initContainerStatuses"] = Json::array({waiting});
    CHECK(first_pod_of({evicted})->has_container_status);
}

TEST_CASE("a tie between Pods of two nodes is undecided", "[failed pods]") {
    struct Case {
        const char* name;
        std::vector<Json> pods;
        bool want;
    };
    const auto on = [](Json pod, const char* node) {
        pod["spec"]["nodeName"] = node;
        return pod;
    };
    const Case cases[] = {
        {"one Pod", {exited(0, 1, 50s)}, false},
        {"two of one node", {on(exited(0, 1, 50s), "gpu-7"), on(exited(1, 1, 50s), "gpu-7")}, false},
        {"two of two nodes in one second", {exited(0, 1, 50s), exited(1, 1, 50s)}, true},
        {"two seconds apart", {exited(0, 1, 50s), exited(1, 3, 52s)}, true},
        {"three seconds apart", {exited(0, 1, 50s), exited(1, 1, 53s)}, false},
        {"a likelier cause beside others", {exited(0, 1, 50s), exited(1, 137, 51s, "OOMKilled")}, false},
        {"two of the likelier cause, of which one is later",
         {exited(0, 1, 50s), exited(1, 137, 51s, "OOMKilled"), exited(2, 137, 52s, "OOMKilled")},
         true},
        {"a signal beside exit codes", {exited(0, 139, 52s), exited(1, 1, 50s), exited(2, 1, 51s)}, false},
        {"two nodes that refuse their Pods", {rejected(0), rejected(1)}, true},
        {"one that refuses its Pod, and the peers that miss it", {rejected(0), exited(1, 1, 11s)}, false},
        {"a Pod without a node", {exited(0, 1, 50s), on(exited(1, 1, 50s), "")}, true},
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            CHECK(first_pod_of(c.pods)->is_undecided == c.want);
        }
}

TEST_CASE("an exit code above 128 says which signal ended the program", "[failed pods]") {
    CHECK(first_of({exited(0, 134, 50s)})->signal == 6);
    CHECK(first_of({exited(0, 255, 50s)})->signal == std::nullopt);
}

TEST_CASE("numbers that no status can hold are left out", "[failed pods]") {
    CHECK(first_of({exited(0, -1'073'741'510, 50s)})->exit_code == -1'073'741'510);
    CHECK(first_of({exited(0, std::int64_t{1} << 40, 50s)})->exit_code == std::nullopt);
}

TEST_CASE("of a message the end is kept, in one line and without what terminals interpret", "[failed pods]") {
    const std::string log = std::string(2000, 'a') + "\x1b[31m\nRuntimeError: ä\xff\n\n";
    const std::string message = first_of({exited(0, 1, 50s, "Error", log)})->message;
    CHECK(message.size() == 512);
    CHECK(message.ends_with("a [31m RuntimeError: ä"));
}

TEST_CASE("Pods that no Job of the JobSet can have made do not count", "[failed pods]") {
    Json other_job_set = exited(0, 1, 50s);
    other_job_set["metadata"]["labels"][api::job_set_uid_label] = "job-set-0";
    Json forged = exited(0, 1, 50s);
    forged["metadata"].erase("ownerReferences");
    Json of_replica_set = exited(0, 1, 50s);
    of_replica_set["metadata"]["ownerReferences"].items().at(0)["kind"] = "ReplicaSet";
    CHECK(name_of_first({other_job_set, forged, of_replica_set}) == "none");
}

TEST_CASE("Pods of any shape are no crash", "[failed pods]") {
    Json strange = exited(0, 1, 50s);
    strange["metadata"]["labels"][api::completion_index_label] = "99999999999999999999";
    strange["status"]["containerStatuses"] = Json::array({Json(7), Json(), container("node", 1, 50s)});
    const auto first = first_of({strange, Json(), Json("text"), Json::array()});
    REQUIRE(first);
    CHECK(first->index == std::nullopt);
    CHECK(first->exit_code == 1);
}

TEST_CASE("failed Pods are looked at when a failed JobSet ends the job", "[failed pods]") {
    Observed failed = running();
    failed.job_set->finished = condition("Failed", "True", "FailedJobs");
    CHECK(wants_failed_pods(decide(failed, start + 60s)));
    CHECK_FALSE(wants_failed_pods(decide(completed_unseen(), start + 60s)));
    CHECK_FALSE(wants_failed_pods(decide(with_deadline(running()), start + 60s)));
    CHECK_FALSE(wants_failed_pods(decide(running(), start + 60s)));
    CHECK(wants_failed_pods(decide(failed_attempt(), start + 60s)));
    CHECK(wants_failure_policy(decide(failed_attempt(), start + 60s)));
    CHECK_FALSE(wants_failure_policy(decide(failed, start + 60s)));
    CHECK_FALSE(wants_failed_pods(Finish{.judges = Judged::hang}));
    CHECK(wants_failure_policy(Finish{.judges = Judged::hang}));
}

TEST_CASE("the end of a job waits for its failed Pods for a minute, and for no permission", "[failed pods]") {
    const api::Error unavailable = {.code = api::Errc::unavailable, .message = "connection reset"};
    CHECK(waits_for_failed_pods(unavailable, {}, start));
    const RetryState fails = {.failures = 9, .errors_since = start};
    CHECK(waits_for_failed_pods(unavailable, fails, start + 59s));
    CHECK_FALSE(waits_for_failed_pods(unavailable, fails, start + 60s));
    CHECK_FALSE(waits_for_failed_pods(server_error(403, "pods is forbidden"), {}, start));
    CHECK_FALSE(waits_for_failed_pods({.code = api::Errc::too_large}, {}, start));
}

}  // namespace lifecycle
