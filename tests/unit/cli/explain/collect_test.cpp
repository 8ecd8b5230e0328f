// The requests of `kubectl trainjob explain`, and its handling of refusals.
#include "explain/collect.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

#include "support/answering_server.hpp"
#include "support/printers.hpp"

namespace {

using api::Json;

constexpr const char* job_path = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/vision/trainjobs/night";
constexpr const char* job_set_path = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/vision/jobsets/night";
constexpr const char* lease_path =
    "/apis/coordination.k8s.io/v1/namespaces/kubeflow-system/leases/trainer.kubeflow.org";
constexpr const char* pods_query =
    "/api/v1/namespaces/vision/pods?limit=500&labelSelector=jobset.sigs.k8s.io%2Fjobset-name%3Dnight";
constexpr const char* own_events =
    "/api/v1/namespaces/vision/events?limit=500&fieldSelector=involvedObject.name%3Dnight";
constexpr const char* job_events =
    "/api/v1/namespaces/vision/events?limit=500&fieldSelector=type%3DWarning%2CinvolvedObject.kind%3DJob";
constexpr const char* pod_events =
    "/api/v1/namespaces/vision/events?limit=500&fieldSelector=type%3DWarning%2CinvolvedObject.kind%3DPod";

// Has the TrainJob and its JobSet, and empty lists.
struct Cluster final : AnsweringServer {
    Cluster() {
        has_empty_lists = true;
        bodies = {
            {job_path,
             R"({"metadata": {"name": "night", "uid": "u1", "creationTimestamp": "2026-01-15T11:00:00Z"}, )"
             R"("spec": {"runtimeRef": {"name": "torch"}}})"},
            {job_set_path,
             R"({"metadata": {"name": "night"}, "spec": {"replicatedJobs": [{"name": "node"}]}})"}};
    }
};

api::Result<cli::RelatedObjects> look(AnsweringServer& server) {
    boost::asio::io_context context;
    api::Result<cli::RelatedObjects> seen = api::Error{.message = "it has not ended"};
    boost::asio::co_spawn(
        context, cli::collect(server, {"vision", "night"}, {"kubeflow-system", "trainer.kubeflow.org"}),
        [&](std::exception_ptr, auto result) { seen = std::move(result); });
    context.run();
    return seen;
}

std::string names_of(const std::vector<Json>& objects) {
    std::string names;
    for (const Json& object : objects) names.append(object["metadata"]["name"].as_string()).append(" ");
    return names;
}

std::string event(const std::string& name, const std::string& kind, const std::string& about,
                  const std::string& uid = "u1", const std::string& created = "2026-01-15T11:00:00Z") {
    return R"({"metadata": {"name": ")" + name + R"(", "creationTimestamp": ")" + created +
           R"("}, "involvedObject": {"kind": ")" + kind + R"(", "name": ")" + about + R"(", "uid": ")" + uid +
           "\"}}";
}

}  // namespace

TEST_CASE("Pods are read page by page", "[explain]") {
    Cluster server;
    server.bodies[pods_query] =
        R"({"metadata": {"continue": "a/b"}, "items": [{"metadata": {"name": "p1"}}]})";
    server.bodies[pods_query + std::string("&continue=a%2Fb")] =
        R"({"items": [{"metadata": {"name": "p2"}}]})";
    const auto seen = look(server);
    REQUIRE(seen);
    CHECK(names_of(seen->pods.found) == "p1 p2 ");
}

TEST_CASE("events are those of the TrainJob and of its objects", "[explain]") {
    Cluster server;
    server.bodies[pods_query] = R"({"items": [{"metadata": {"name": "night-node-0-0-x"}}]})";
    server.bodies[own_events] =
        "{\"items\": [" + event("own", "TrainJob", "night") + "," + event("set", "JobSet", "night") + "," +
        R"({"type": "Warning", )" + event("gang", "PodGroup", "night").substr(1) + "," +
        event("placed", "PodGroup", "night") + "," + event("unrelated", "Service", "night") + "," +
        event("namesake", "TrainJob", "night", "u0") + "," +
        event("earlier", "JobSet", "night", "u0", "2026-01-15T10:00:00Z") + "]}";
    server.bodies[job_events] = "{\"items\": [" + event("job", "Job", "night-node-0") + "," +
                                event("other job", "Job", "night-node-0b") + "," +
                                event("more", "Job", "night-shift-node-0") + "]}";
    server.bodies[pod_events] = "{\"items\": [" + event("pod", "Pod", "night-node-0-0-x") + "," +
                                event("other pod", "Pod", "day-node-0-0-x") + "]}";
    const auto seen = look(server);
    REQUIRE(seen);
    CHECK(names_of(seen->events.found) == "own set gang job pod ");
}

TEST_CASE("that a stop ended a hook with its container is no news, unless the Pod is to go on", "[explain]") {
    const auto about = [](const std::string& pod, const std::string& reason) {
        return R"({"metadata": {"name": ")" + pod + " " + reason + R"("}, "reason": ")" + reason +
               R"(", "involvedObject": {"kind": "Pod", "name": ")" + pod + "\"}}";
    };
    Cluster server;
    server.bodies[pods_query] =
        R"({"items": [{"metadata": {"name": "ends", "deletionTimestamp": "2026-01-15T12:00:00Z"}},
                      {"metadata": {"name": "stays"}}]})";
    server.bodies[pod_events] = "{\"items\": [" + about("ends", "FailedPreStopHook") + "," +
                                about("ends", "Evicted") + "," + about("stays", "FailedPreStopHook") + "," +
                                about("gone", "FailedPreStopHook") + "]}";
    const auto seen = look(server);
    REQUIRE(seen);
    CHECK(names_of(seen->events.found) == "ends Evicted stays FailedPreStopHook ");
}

TEST_CASE("of nodes, those are read that seem silent, if the user may", "[explain]") {
    const std::string silent =
        R"({"spec": {"nodeName": "n2"}, "status": {"phase": "Running", "containerStatuses": [{"ready": true}],
            "conditions": [{"type": "Ready", "status": "False"}]}})";
    Cluster server;
    server.bodies[pods_query] =
        R"({"items": [{"spec": {"nodeName": "n1"}, "status": {"phase": "Running"}}, )" + silent + "]}";
    server.bodies["/api/v1/nodes/n2"] = R"({"metadata": {"name": "n2"}})";
    auto seen = look(server);
    REQUIRE(seen);
    REQUIRE(seen->nodes.size() == 1);
    CHECK(seen->nodes["n2"]["metadata"]["name"].as_string() == "n2");
    server.errors["/api/v1/nodes/n2"] = {.code = api::Errc::forbidden, .message = "no"};
    seen = look(server);
    REQUIRE(seen);
    CHECK(seen->nodes.empty());
}

TEST_CASE("Pods without a node have the problem of the Pods that hold room for their YuniKorn gang",
          "[explain]") {
    const auto placeholders = [](const std::string& applications) {
        return "/api/v1/namespaces/vision/"
               "pods?limit=500&labelSelector=yunikorn.apache.org%2Fapp-id%20in%20%28" +
               applications + "%29%2C%21jobset.sigs.k8s.io%2Fjobset-name";
    };
    const auto pod = [](const char* application, const char* more) {
        return R"({"metadata": {"labels": {"yunikorn.apache.org/app-id": ")" + std::string(application) +
               R"("}, "annotations": {"internal.yunikorn.apache.org/placeholder": "true"}}, )" + more + "}";
    };
    const auto refused = [](const char* message) {
        return R"("status": {"conditions": [{"type": "PodScheduled", "status": "False", "message": ")" +
               std::string(message) + "\"}]}";
    };
    const char* const on_a_node = R"("spec": {"nodeName": "n"})";
    const auto list = [](std::vector<std::string> items) {
        std::string text = "{\"items\": [";
        for (const std::string& item : items) text += (text.back() == '[' ? "" : ",") + item;
        return text + "]}";
    };
    const auto messages = [&](std::vector<std::string> pods, std::vector<std::string> holding,
                              const std::string& applications = "a") {
        Cluster server;
        server.bodies[pods_query] = list(std::move(pods));
        server.bodies[placeholders(applications)] = list(std::move(holding));
        const auto seen = look(server);
        REQUIRE(seen);
        std::string text;
        for (const Json& each : seen->pods.found)
            text.append(each["status"]["conditions"][0]["message"].as_string()).append("|");
        return text;
    };
    const std::string waiting = pod("a", R"("status": {"phase": "Pending"})");
    const std::string held = pod("a", on_a_node);
    const std::string full = pod("a", refused("full").c_str());
    CHECK(messages({waiting, waiting}, {held, full}) ==
          "room is held for 1 of 2 Pods of its gang: full|room is held for 1 of 2 Pods of its gang: full|");
    CHECK(messages({waiting, pod("b", R"("status": {"phase": "Pending"})")},
                   {held, full, pod("b", refused("small").c_str())}, "a%2Cb") ==
          "room is held for 1 of 2 Pods of its gang: full|room is held for 0 of 1 Pods of its gang: small|");
    CHECK(messages({waiting}, {held, held}) == "|");
    CHECK(messages({waiting}, {pod("b", refused("full").c_str())}) == "|");
    CHECK(messages({waiting}, {}) == "|");
    CHECK(messages({pod("a", on_a_node)}, {full}) == "|");
    CHECK(messages({pod("a", refused("small").c_str())}, {full}) == "small|");
    CHECK(messages({pod("a", R"("status": {"phase": "Failed"})")}, {full}) == "|");
    CHECK(messages({R"({"metadata": {}})"}, {full}) == "|");
}

TEST_CASE("of a TrainJob in a queue its newest Workload is read, in the version that Kueue serves",
          "[explain]") {
    const std::string query =
        "/namespaces/vision/workloads?limit=500&labelSelector=kueue.x-k8s.io%2Fjob-uid%3Du1";
    Cluster server;
    server.bodies[job_path] =
        R"({"metadata": {"name": "night", "uid": "u1", "labels": {"kueue.x-k8s.io/queue-name": "team"}}, "spec": {"runtimeRef": {"name": "torch"}}})";
    server.errors["/apis/kueue.x-k8s.io/v1beta2" + query] = {.code = api::Errc::not_found,
                                                             .message = "page not found"};
    server.bodies["/apis/kueue.x-k8s.io/v1beta1" + query] =
        R"({"items": [{"metadata": {"name": "new", "creationTimestamp": "2026-01-15T12:00:00Z"}},
                      {"metadata": {"name": "old", "creationTimestamp": "2026-01-15T11:00:00Z"}}]})";
    const auto seen = look(server);
    REQUIRE(seen);
    CHECK(seen->workload.found["metadata"]["name"].as_string() == "new");
}

TEST_CASE("of a JobSet in a queue of its own the Workload is read", "[explain]") {
    Cluster server;
    server.bodies[job_set_path] =
        R"({"metadata": {"name": "night", "uid": "s1", "labels": {"kueue.x-k8s.io/queue-name": "team"},
                         "ownerReferences": [{"controller": true, "uid": "u1", "kind": "TrainJob", "name": "night",
                                              "apiVersion": "trainer.kubeflow.org/v1alpha1"}]}})";
    server.bodies
        ["/apis/kueue.x-k8s.io/v1beta2/namespaces/vision/"
         "workloads?limit=500&labelSelector=kueue.x-k8s.io%2Fjob-uid%3Ds1"] =
        R"({"items": [{"metadata": {"name": "of-the-job-set"}}]})";
    const auto seen = look(server);
    REQUIRE(seen);
    CHECK(seen->workload.found["metadata"]["name"].as_string() == "of-the-job-set");
}

TEST_CASE("of a TrainJob with a progress deadline the Lease of the servers of progress is read",
          "[explain]") {
    const std::string path =
        "/apis/coordination.k8s.io/v1/namespaces/kubeflow-system/leases/signalbox-progress";
    Cluster server;
    server.bodies[path] = R"({"metadata": {"name": "signalbox-progress"}})";
    auto seen = look(server);
    REQUIRE(seen);
    CHECK(seen->progress_lease.found.is_null());
    server.bodies[job_path] =
        R"({"metadata": {"name": "night", "uid": "u1", "annotations": {"trainer.kubeflow.org/progress-deadline-seconds": "60"}}})";
    seen = look(server);
    REQUIRE(seen);
    CHECK(to_string(seen->progress_lease_key) == "kubeflow-system/signalbox-progress");
    CHECK(seen->progress_lease.found["metadata"]["name"].as_string() == "signalbox-progress");
    server.errors[path] = {.code = api::Errc::forbidden, .message = "no"};
    seen = look(server);
    REQUIRE(seen);
    CHECK(seen->progress_lease.unread == "no");
}

TEST_CASE("objects that may not be read are named, and the others are shown", "[explain]") {
    Cluster server;
    const api::Error forbidden = {.code = api::Errc::forbidden, .message = "no"};
    for (const char* target : {pods_query, job_events, job_set_path, lease_path,
                               "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes/torch",
                               "/api/v1/namespaces/vision/configmaps/night-runtime-snapshot"})
        server.errors[target] = forbidden;
    const auto seen = look(server);
    REQUIRE(seen);
    CHECK(seen->job["metadata"]["name"].as_string() == "night");
    CHECK(seen->pods.unread == "no");
    CHECK(seen->events.unread == "no");
    CHECK(seen->job_set.unread == "no");
    CHECK(seen->runtime.unread == "no");
    CHECK(seen->snapshot.unread == "no");
    CHECK(seen->lease.unread == "no");
}

TEST_CASE("a TrainJob that cannot be read is an error with its reason", "[explain]") {
    struct Row {
        api::Error error;
        const char* message;
    };
    using enum api::Errc;
    const Row rows[] = {
        {{.code = not_found, .message = "trainjobs \"night\" not found"},
         "there is no TrainJob vision/night; `kubectl trainjob list -n vision` lists the existing ones"},
        {{.code = not_found, .message = "page not found"},
         "this cluster has no TrainJobs (page not found): are the CRDs installed?"},
        {{.code = unauthorized, .message = "Unauthorized"},
         "Unauthorized: the credentials of the kubeconfig are not accepted; have they expired?"},
        {{.code = forbidden, .message = "you may not"}, "you may not"},
    };
    for (const Row& row : rows) {
        Cluster server;
        server.errors[job_path] = row.error;
        const auto seen = look(server);
        REQUIRE_FALSE(seen);
        CHECK(seen.error().message == row.message);
        CHECK(seen.error().code == row.error.code);
    }
}
