// Queues in `kubectl trainjob explain`, and its document for programs.
#include "explain/model.hpp"

#include <catch2/catch.hpp>

#include "related_objects.hpp"

namespace cli {

TEST_CASE("a queued job has Kueue's reason for waiting", "[explain]") {
    const auto workload = [](const char* status, const char* spec = "{}") {
        return parsed(std::string(R"({"spec": )") + spec + R"(, "status": )" + status + "}");
    };
    const std::pair<Json, const char*> rows[] = {
        {Json(), "Kueue has made no Workload for it yet"},
        {workload("{}"), "Kueue has not looked at it yet"},
        {workload("{}", R"({"active": false})"), "held: spec.active of its Workload is false"},
        {workload(
             R"({"conditions": [{"type": "QuotaReserved", "status": "False", "message": "insufficient unused quota for nvidia.com/gpu"}]})"),
         "waits: insufficient unused quota for nvidia.com/gpu"},
        {workload(R"({"conditions": [{"type": "QuotaReserved", "status": "True"}]})"),
         "has its quota, and waits for admission checks"},
        {workload(
             R"({"conditions": [{"type": "QuotaReserved", "status": "True"}],
                 "admissionChecks": [{"name": "budget", "state": "Ready"}, {"name": "machines", "state": "Pending", "message": "2 of 4 nodes"},
                                     {"name": "review", "state": "Retry"}]})"),
         "has its quota, and waits for the admission check machines (Pending): 2 of 4 nodes, review (Retry)"},
        {workload(R"({"conditions": [{"type": "Evicted", "status": "True", "message": "preempted"}]})"),
         "evicted: preempted"},
        {workload(
             R"({"conditions": [{"type": "Admitted", "status": "True"}], "admission": {"clusterQueue": "gpus"}})"),
         "admitted by the ClusterQueue gpus"},
    };
    RelatedObjects seen = running();
    CHECK_FALSE(has(screen(seen), "Queue"));
    seen.job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "team";
    for (const auto& [object, text] : rows) {
        seen.workload.found = object;
        CHECK(has(screen(seen), std::string("Queue     team: ") + text + "\n"));
        CHECK(document_of(seen)["queueStanding"].as_string() == text);
    }
    seen.workload = {.found = {}, .unread = "forbidden"};
    CHECK(has(screen(seen), "Queue     team; its Workload could not be read: forbidden\n"));
    seen.job["metadata"].erase("labels");
    seen.job_set.found["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "of-the-runtime";
    CHECK(has(screen(seen), "Queue     of-the-runtime; its Workload could not be read: forbidden\n"));
    seen.job_set.found["metadata"].erase("ownerReferences");
    CHECK_FALSE(has(screen(seen), "Queue"));
}

TEST_CASE("the document of a job has the fields of the guide", "[explain]") {
    RelatedObjects seen = running();
    add_snapshot(seen);
    seen.runtime.found["spec"]["mlPolicy"]["numNodes"] = 4;
    seen.job_set.found["status"]["restarts"] = 1;
    seen.pods.found = {
        pod("p", R"({"spec": {"nodeName": "n1"}, "status": {"phase": "Failed", "message": "evicted"}})")};
    seen.events.found = {parsed(
        R"({"involvedObject": {"kind": "Pod", "name": "p"}, "type": "Warning", "reason": "R", "message": "m",
                                    "lastTimestamp": "2026-01-15T11:59:00Z"})")};
    seen.runtime.unread = "";
    const std::string text = api::to_json(document_of(seen));
    for (
        const char* part :
        {R"("state":"waits for its Pods")", R"("since":"2026-01-15T11:00:05Z")",
         R"("pods":[{"name":"p","node":"n1","phase":"Failed","problem":"evicted"}])",
         R"("events":[{"count":1,"last":"2026-01-15T11:59:00Z","message":"m","object":"Pod p","reason":"R","warning":true}])",
         R"("conditions":[{"message":"done","reason":"JobsCreationSucceeded","since":"2026-01-15T11:00:05Z","status":"True","type":"Created"}])",
         R"("restarts":1)", R"("changes":["mlPolicy.numNodes: 1 -> 4"])",
         R"("nodes":{"ready":0,"wanted":4})"}) {
        INFO(text);
        INFO(part);
        CHECK(has(text, part));
    }
    CHECK_FALSE(has(text, "unread"));
    CHECK_FALSE(has(text, "lease"));
    for (const char* absent : {"failures", "nextAttempt", "excludedNodes"}) CHECK_FALSE(has(text, absent));
    Json judged = failures();
    judged.items()[0]["decision"] = "Restart";
    judged.items()[0]["rule"] = 0;
    judged.items()[0]["excludesNode"] = true;
    seen.job["status"]["failures"] = judged;
    CHECK(document_of(seen)["failures"] == judged);
    seen.job_set.found["metadata"]["annotations"] = parsed(R"({"trainer.kubeflow.org/restarts-before": "2,1",
                   "trainer.kubeflow.org/excluded-nodes": "gpu-17,gpu-3"})");
    CHECK(document_of(seen)["restarts"] == 3);
    CHECK(document_of(seen)["excludedNodes"] == Json::array({"gpu-17", "gpu-3"}));
    seen.lease.found = lease("11:54:50.000000", "a");
    CHECK(document_of(seen)["lease"] ==
          "no reconciler leads: kubeflow-system/trainer.kubeflow.org was renewed 5m 10s ago");
    seen.pods = {.found = {}, .unread = "forbidden"};
    seen.lease = {.found = {}, .unread = "forbidden"};
    CHECK(has(api::to_json(document_of(seen)), R"("unread":{"pods":"forbidden"})"));
    seen.job["status"] = Json::object();
    CHECK(document_of(seen)["unread"]["lease"] == "forbidden");
}

}  // namespace cli
