// The screen of `kubectl trainjob explain`.
#include <catch2/catch.hpp>

#include "controller/reconcile/observe.hpp"
#include "related_objects.hpp"

namespace cli {
namespace {

constexpr const char* told_to_end =
    R"({"metadata": {"creationTimestamp": "2026-01-15T11:00:05Z", "deletionTimestamp": "2026-01-15T12:00:20Z"},
        "status": {"phase": "Running"}})";

}  // namespace

TEST_CASE("a running job is one screen", "[explain]") {
    RelatedObjects seen = running();
    add_snapshot(seen);
    seen.pods.found.push_back(
        pod("night-node-0-0-x", R"({"spec": {"nodeName": "n1"}, "status": {"phase": "Running"}})"));
    seen.events.found.push_back(parsed(
        R"({"involvedObject": {"kind": "TrainJob"}, "type": "Normal", "reason": "JobsCreationSucceeded",
        "message": "Succeeded to create Jobs", "lastTimestamp": "2026-01-15T11:00:05Z"})"));
    CHECK(screen(seen) ==
          "TrainJob  vision/night, created 1h ago\n"
          "State     running for 59m 55s (JobsCreationSucceeded)\n"
          "Deadline  2h since its creation: 1h left\n"
          "TTL       10m after its end\n"
          "Runtime   ClusterTrainingRuntime torch\n"
          "JobSet    runs\n"
          "            jobs of node: 1 active\n"
          "Pods      1 Running, on 1 node\n"
          "            night-node-0-0-x  Running on n1\n"
          "Events    59m 55s ago  TrainJob  JobsCreationSucceeded: Succeeded to create Jobs\n");
}

TEST_CASE("each state is explained", "[explain]") {
    struct Row {
        const char* name;
        void (*change)(RelatedObjects&);
        const char* text;
    };
    const auto set = [](RelatedObjects& seen, Json each) {
        seen.job["status"]["conditions"] = Json::array({std::move(each)});
    };
    static const auto conditions = set;
    const Row rows[] = {
        {"new", [](RelatedObjects& s) { s.job.erase("status"); }, "State     not looked at yet\n"},
        {"blocked",
         [](RelatedObjects& s) {
             conditions(s, condition("Created", "False", "JobsBuildFailed", "spec.x: wrong"));
         },
         "State     cannot be created for 30m (JobsBuildFailed)\n          spec.x: wrong\n"},
        {"without a verdict",
         [](RelatedObjects& s) {
             conditions(s, condition("Created", "Unknown", "JobsCreationRetrying", "JobSet: webhook down"));
         },
         "State     not created yet, retried for 30m (JobsCreationRetrying)\n          JobSet: webhook "
         "down\n"},
        {"stalled",
         [](RelatedObjects& s) {
             s.job["status"]["conditions"].push_back(
                 condition("Stalled", "True", "PodsNotCreated", "job node: exceeded quota"));
         },
         "State     stalled for 30m (PodsNotCreated)\n          job node: exceeded quota\n"},
        {"suspended and blocked",
         [](RelatedObjects& s) {
             s.job["spec"]["suspend"] = true;
             conditions(s, condition("Suspended", "True", "Suspended"));
             s.job["status"]["conditions"].push_back(
                 condition("Created", "False", "JobsBuildFailed", "spec.x: wrong"));
         },
         "State     suspended for 30m (Suspended)\n          Created=False (JobsBuildFailed) spec.x: "
         "wrong\n"},
        {"suspended",
         [](RelatedObjects& s) {
             s.job["spec"]["suspend"] = true;
             conditions(s, condition("Suspended", "True", "Suspended"));
         },
         "State     suspended for 30m (Suspended)\nDeadline  2h from the next resume on; it does not run "
         "while suspended\n"},
        {"resumed",
         [](RelatedObjects& s) {
             s.job["status"]["conditions"].push_back(condition("Suspended", "False", "Resumed"));
         },
         "State     waits for its Pods for 30m (Resumed)\nDeadline  2h since the last resume: 1h 30m "
         "left\n"},
        {"resumed before its objects were made",
         [](RelatedObjects& s) {
             Json resumed = condition("Suspended", "False", "Resumed");
             resumed["lastTransitionTime"] = "2026-01-15T11:00:01Z";
             s.job["status"]["conditions"].push_back(resumed);
         },
         "State     waits for its Pods for 59m 55s (JobsCreationSucceeded)\n"},
        {"resumed, without the condition Created",
         [](RelatedObjects& s) {
             conditions(s, condition("Suspended", "False", "Resumed", "TrainJob is resumed"));
             s.job["status"]["jobsStatus"] = parsed(R"([{"name": "node", "active": 1}])");
         },
         "State     waits for its Pods for 30m (Resumed)\nDeadline"},
        {"resumed and blocked",
         [](RelatedObjects& s) {
             conditions(s, condition("Suspended", "False", "Resumed"));
             s.job["status"]["conditions"].push_back(
                 condition("Created", "False", "JobsBuildFailed", "spec.x: wrong"));
         },
         "State     cannot be created for 30m (JobsBuildFailed)\n          spec.x: wrong\n"},
        {"to be suspended", [](RelatedObjects& s) { s.job["spec"]["suspend"] = true; },
         "is to be suspended\n"},
        {"late", [](RelatedObjects& s) { s.job["spec"]["activeDeadlineSeconds"] = 60; },
         "Deadline  1m since its creation: passed 59m ago\n"},
        {"without a deadline", [](RelatedObjects& s) { s.job["spec"].erase("activeDeadlineSeconds"); },
         "Deadline  none\n"},
        {"failed",
         [](RelatedObjects& s) {
             conditions(s, condition("Failed", "True", "DeadlineExceeded"));
             s.job["status"]["runPolicy"]["ttlSecondsAfterFinished"] = 600;
         },
         "State     failed 30m ago (DeadlineExceeded)\nDeadline  2h; the job has ended\nTTL       10m "
         "after its end: deleted in 0s\n"},
        {"complete, without a TTL",
         [](RelatedObjects& s) {
             conditions(s, condition("Complete", "True", "AllJobsCompleted"));
             s.runtime.found["spec"].erase("ttlSecondsAfterFinished");
         },
         "State     completed 30m ago (AllJobsCompleted)\n"},
        {"complete, without a TTL",
         [](RelatedObjects& s) { s.runtime.found["spec"].erase("ttlSecondsAfterFinished"); },
         "TTL       none: it stays until it is deleted\n"},
        {"with its own TTL",
         [](RelatedObjects& s) {
             conditions(s, condition("Complete", "True", "AllJobsCompleted"));
             s.job["spec"]["ttlSecondsAfterFinished"] = 7200;
             s.runtime = {.found = Json(), .unread = "forbidden"};
         },
         "TTL       2h after its end: deleted in 1h 30m\n"},
        {"with a TTL that its runtime got later",
         [](RelatedObjects& s) { s.job["status"]["runPolicy"] = Json::object(); },
         "TTL       none: it stays until it is deleted\n"},
        {"with a TTL that was prolonged",
         [](RelatedObjects& s) { s.job["status"]["runPolicy"]["ttlSecondsAfterFinished"] = 60; },
         "TTL       10m after its end\n"},
        {"a worker's copy",
         [](RelatedObjects& s) {
             s.job["metadata"]["labels"]["kueue.x-k8s.io/multikueue-origin"] = "manager";
         },
         "TTL       none here: MultiKueue deletes it\n"},
        {"with the deadline of its runtime",
         [](RelatedObjects& s) {
             s.job["spec"].erase("activeDeadlineSeconds");
             s.job["status"]["runPolicy"]["activeDeadlineSeconds"] = 5400;
         },
         "Deadline  1h 30m (default of ClusterTrainingRuntime torch) since its creation: 30m left\n"},
        {"above the maximum of its runtime",
         [](RelatedObjects& s) { s.job["status"]["runPolicy"]["maxActiveDeadlineSeconds"] = 3660; },
         "Deadline  1h 1m (maximum of ClusterTrainingRuntime torch) since its creation: 1m left\n"},
        {"completed after the deadline",
         [](RelatedObjects& s) {
             conditions(s, condition("Failed", "True", "DeadlineExceeded"));
             s.job_set.found["status"]["conditions"] =
                 Json::array({condition("Completed", "True", "AllJobsCompleted")});
         },
         "JobSet    Completed (AllJobsCompleted), too late for the TrainJob's deadline\n"},
        {"of another controller",
         [](RelatedObjects& s) { s.job["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"; },
         "State     managed by another controller: kueue.x-k8s.io/multikueue; JobsCreationSucceeded 59m 55s "
         "ago\n"},
        {"being deleted",
         [](RelatedObjects& s) { s.job["metadata"]["deletionTimestamp"] = "2026-01-15T11:59:00Z"; },
         "being deleted for 1m\n"},
        {"a plugin's condition",
         [](RelatedObjects& s) {
             s.job["status"]["conditions"].push_back(condition("Quota", "False", "Full", "no room"));
         },
         "          Quota=False (Full) no room\n"},
        {"no runtime", [](RelatedObjects& s) { s.runtime.found = Json(); },
         "Runtime   ClusterTrainingRuntime torch, which does not exist\n"},
        {"no JobSet", [](RelatedObjects& s) { s.job_set.found = Json(); }, "JobSet    none\n"},
        {"a foreign JobSet", [](RelatedObjects& s) { s.job_set.found["metadata"].erase("ownerReferences"); },
         "JobSet    the one of that name belongs to another owner; rename or delete either\n"},
        {"a suspended JobSet", [](RelatedObjects& s) { s.job_set.found["spec"]["suspend"] = true; },
         "JobSet    suspended\n"},
        {"a JobSet that was started over",
         [](RelatedObjects& s) { s.job_set.found["status"]["restarts"] = 2; },
         "JobSet    runs, restarted 2 times (0 counted)\n"},
        {"restarts under a failure policy",
         [](RelatedObjects& s) {
             Json& job_set = s.job_set.found;
             job_set["metadata"]["annotations"]["trainer.kubeflow.org/restarts-before"] = "2,1";
             job_set["spec"]["failurePolicy"]["maxRestarts"] = 3;
             job_set["status"]["restarts"] = 1;
             job_set["status"]["restartsCountTowardsMax"] = 1;
         },
         "JobSet    runs, restarted 3 times (2 of 4 counted)\n"},
        {"between attempts",
         [](RelatedObjects& s) {
             s.job["status"]["conditions"].push_back(
                 condition("Restarting", "True", "BackingOff", "attempt 2 begins at 2026-01-15T12:00:08Z"));
             s.job["status"]["restarts"] = 2;
             s.job["status"]["nextAttemptTime"] = "2026-01-15T12:00:08Z";
         },
         "State     restarting, attempt 2 begins in 8s\nDeadline"},
        {"between attempts, for longer than planned",
         [](RelatedObjects& s) {
             s.job["status"]["conditions"].push_back(condition("Restarting", "True", "BackingOff"));
             s.job["status"]["restarts"] = 1;
             s.job["status"]["nextAttemptTime"] = "2026-01-15T11:58:00Z";
         },
         "State     restarting, attempt 1 was due 2m ago\nDeadline"},
        {"between attempts, to be suspended",
         [](RelatedObjects& s) {
             s.job["status"]["conditions"].push_back(condition("Restarting", "True", "BackingOff"));
             s.job["spec"]["suspend"] = true;
         },
         "State     restarting, attempt 0\n          is to be suspended\n"},
        {"an attempt, with its number", [](RelatedObjects& s) { make_attempt(s, "2"); },
         "JobSet    runs, attempt 2 (1 counted)\n            jobs of node"},
        {"an attempt that has failed",
         [](RelatedObjects& s) {
             make_attempt(s, "2", "gpu-17");
             s.job_set.found["status"]["conditions"] =
                 Json::array({condition("Failed", "True", "ReachedMaxRestarts")});
         },
         "JobSet    Failed, attempt 2 (1 counted)\n            avoids node gpu-17\n"},
        {"a gang that finds no node beside those that it avoids",
         [](RelatedObjects& s) {
             make_attempt(s, "2", "gpu-17,gpu-3");
             s.pods.found = {pod("p", R"({"status": {"phase": "Pending", "conditions": [
                 {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/4"}]}})")};
         },
         "            avoids nodes gpu-17, gpu-3, which may be why its Pods find no node\n"},
        {"the event of a restart",
         [](RelatedObjects& s) {
             s.job["status"]["failures"] = failures();
             s.events.found = {parsed(
                 R"({"reason": "TrainJobRestarted", "involvedObject": {"kind": "TrainJob"}, "type": "Warning",
                     "lastTimestamp": "2026-01-15T11:30:00Z"})")};
             s.events.found[0]["message"] =
                 "restart 3, 1 of 3 counted: " + api::describe(api::parse_failures(failures())[0]);
         },
         "30m ago  TrainJob  TrainJobRestarted: restart 3, 1 of 3 counted\n"},
        {"a JobSet that has ended",
         [](RelatedObjects& s) {
             s.job_set.found["status"]["conditions"] =
                 Json::array({condition("Completed", "True", "AllJobsCompleted")});
         },
         "JobSet    Completed (AllJobsCompleted)\n"},
        {"no Pods, no events", [](RelatedObjects&) {},
         "Pods      none\nEvents    none (they may have expired)\n"},
        {"Pods that all wait",
         [](RelatedObjects& s) { s.pods.found = {pod("p", R"({"status": {"phase": "Pending"}})")}; },
         "State     waits for its Pods for 59m 55s"},
        {"a program that fails again and again",
         [](RelatedObjects& s) {
             s.job_set.found["spec"]["replicatedJobs"] =
                 parsed(R"([{"name": "node", "template": {"spec": {"backoffLimit": 4}}}])");
             s.pods.found = {pod(
                 "p",
                 R"({"status": {"phase": "Running", "containerStatuses": [{"name": "node", "restartCount": 3,
                 "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 1}}}]}})")};
             Json& meta = s.pods.found[0]["metadata"];
             meta["creationTimestamp"] = "2026-01-15T11:00:05Z";
             meta["labels"]["batch.kubernetes.io/job-name"] = "night-node-0";
         },
         "State     fails and is retried, 3 of 4, exit code 1\n"},
        {"a program that goes on after its deadline",
         [](RelatedObjects& s) {
             conditions(s, condition("Failed", "True", "DeadlineExceeded"));
             s.pods.found = {pod("p", told_to_end)};
         },
         "State     failed 30m ago (DeadlineExceeded)\n          stopping: 1 of 1 Pod within its grace (20s "
         "left)\n"},
        {"suspended, with Pods that save what they have",
         [](RelatedObjects& s) {
             s.job["spec"]["suspend"] = true;
             s.job["spec"]["trainer"]["numNodes"] = 4;
             conditions(s, condition("Suspended", "True", "Suspended"));
             s.pods.found = {
                 pod("p", told_to_end), pod("q", told_to_end),
                 pod("r",
                     R"({"metadata": {"creationTimestamp": "2026-01-15T11:00:05Z"}, "status": {"phase": "Failed"}})")};
         },
         "State     suspended for 30m (Suspended)\n          stopping: 2 of 4 Pods within their grace (20s "
         "left)\n"},
        {"resumed while Pods of before still end",
         [](RelatedObjects& s) {
             conditions(s, condition("Suspended", "True", "Suspended"));
             s.pods.found = {pod("p", told_to_end)};
         },
         "          is to run again\n          stopping: 1 of 1 Pod within its grace (20s left)\n"},
        {"between attempts, with Pods of the one that failed",
         [](RelatedObjects& s) {
             s.job["status"]["conditions"].push_back(condition("Restarting", "True", "BackingOff"));
             s.job["status"]["restarts"] = 1;
             s.job["status"]["nextAttemptTime"] = "2026-01-15T12:00:08Z";
             s.pods.found = {pod("p", told_to_end)};
         },
         "State     restarting, attempt 1 begins in 8s\n          stopping: 1 of 1 Pod within its grace (20s "
         "left)\n"},
        {"being deleted, with Pods that still end",
         [](RelatedObjects& s) {
             s.job["metadata"]["deletionTimestamp"] = "2026-01-15T11:59:00Z";
             s.pods.found = {pod("p", told_to_end)};
         },
         "          stopping: 1 of 1 Pod within its grace (20s left)\n          being deleted for 1m\n"},
        {"a JobSet that stays as it was built",
         [](RelatedObjects& s) {
             s.job_set.found["metadata"]["creationTimestamp"] = "2026-01-15T11:00:05Z";
             s.events.found = {parsed(
                 R"({"reason": "JobSetKept", "message": "The JobSet goes on as it was built: spec.x is not as now",
                            "lastTimestamp": "2026-01-15T11:30:00Z"})")};
         },
         "JobSet    runs\n            The JobSet goes on as it was built: spec.x is not as now\n"},
        {"an event about an earlier JobSet",
         [](RelatedObjects& s) {
             s.job_set.found["metadata"]["creationTimestamp"] = "2026-01-15T11:40:00Z";
             s.events.found = {parsed(
                 R"({"reason": "JobSetKept", "message": "x", "lastTimestamp": "2026-01-15T11:30:00Z"})")};
         },
         "JobSet    runs\n            jobs of node"},
        {"a node of which nothing is heard",
         [](RelatedObjects& s) {
             s.pods.found = {pod(
                 "p",
                 R"({"metadata": {"creationTimestamp": "2026-01-15T11:00:05Z"}, "spec": {"nodeName": "n2"},
                 "status": {"phase": "Running", "containerStatuses": [{"name": "node", "ready": true, "state": {"running": {}}}],
                            "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-15T11:57:00Z"}]}})")};
         },
         "            p  Running on n2; its node n2 does not answer for 3m\n"},
        {"in a queue of Kueue",
         [](RelatedObjects& s) {
             s.job["spec"]["suspend"] = true;
             s.job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "team";
             conditions(s, condition("Suspended", "True", "Suspended"));
         },
         "          Kueue decides when it runs; it waits in the queue team\n"},
        {"to run again",
         [](RelatedObjects& s) { conditions(s, condition("Suspended", "True", "Suspended")); },
         "          is to run again\n"},
        {"an unread runtime", [](RelatedObjects& s) { s.runtime = {.found = Json(), .unread = "forbidden"}; },
         "TTL       not known: the runtime says it, which could not be read\nRuntime   "
         "ClusterTrainingRuntime torch, which could not be read: forbidden\n"},
        {"an unread snapshot", [](RelatedObjects& s) { s.snapshot.unread = "forbidden"; },
         "          whether the job runs by it as it is now is not known: forbidden\n"},
        {"an unread JobSet", [](RelatedObjects& s) { s.job_set = {.found = Json(), .unread = "forbidden"}; },
         "JobSet    could not be read: forbidden\n"},
        {"unread Pods", [](RelatedObjects& s) { s.pods.unread = "forbidden"; },
         "Pods      could not be read: forbidden\n"},
        {"unread events", [](RelatedObjects& s) { s.events.unread = "forbidden"; },
         "Events    could not be read: forbidden\n"},
    };
    for (const Row& row : rows) {
        INFO(row.name);
        RelatedObjects seen = running();
        row.change(seen);
        INFO(screen(seen));
        CHECK(has(screen(seen), row.text));
    }
}

TEST_CASE("a reconciler that does not run is recognized by the age of its lease", "[explain]") {
    RelatedObjects seen = running();
    CHECK_FALSE(has(screen(seen), "Lease"));
    seen.lease.found = lease("11:59:31.000000", "a");
    CHECK_FALSE(has(screen(seen), "Lease"));
    const std::string says = "Lease     no reconciler leads: ";
    seen.lease.found = lease("11:54:50.000000", "a");
    CHECK(has(screen(seen), says + "kubeflow-system/trainer.kubeflow.org was renewed 5m 10s ago\n"));
    seen.lease.found = lease("11:54:50.000000", "");
    CHECK(has(screen(seen), says + "kubeflow-system/trainer.kubeflow.org was released 5m 10s ago\n"));
    // Another lease may be in use, or this one may not be readable. That matters if nothing has happened yet.
    seen.lease.found = Json();
    CHECK_FALSE(has(screen(seen), "Lease"));
    seen.job.erase("status");
    CHECK(
        has(screen(seen),
            "Lease     there is none called kubeflow-system/trainer.kubeflow.org; --lease names another\n"));
    seen.lease.unread = "forbidden";
    CHECK(has(screen(seen), "Lease     whether a reconciler leads is not known: forbidden\n"));
    seen.job["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue";
    CHECK_FALSE(has(screen(seen), "Lease"));
}

TEST_CASE("changes of the runtime since the job began are listed by their paths", "[explain]") {
    RelatedObjects seen = running();
    seen.runtime.found["spec"]["template"]["spec"]["replicatedJobs"] =
        parsed(R"([{"name": "node", "image": "a"}])");
    add_snapshot(seen);
    CHECK(has(screen(seen), "Runtime   ClusterTrainingRuntime torch\n"));
    seen.runtime.found["spec"]["mlPolicy"]["numNodes"] = 4;
    seen.runtime.found["spec"]["mlPolicy"]["torch"] = Json::object();
    seen.runtime.found["spec"]["template"]["spec"]["replicatedJobs"].items()[0]["image"] =
        std::string(100, 'b');
    CHECK(has(
        screen(seen),
        "Runtime   ClusterTrainingRuntime torch, changed since the job began; the job keeps its snapshot:\n"
        "            mlPolicy.numNodes: 1 -> 4\n"
        "            mlPolicy.torch: nothing -> {}\n"
        "            template.spec.replicatedJobs[node].image: \"a\" -> \"" +
            std::string(36, 'b') + "...\n"));
    for (int i = 0; i < 20; ++i) seen.runtime.found["spec"]["label-" + std::to_string(i)] = i;
    CHECK(has(screen(seen), "            and 15 more\n"));
    seen.runtime.found = Json();
    CHECK(has(screen(seen), "which is gone; the job keeps its snapshot\n"));
    seen.snapshot.found["metadata"].erase("ownerReferences");
    CHECK(has(screen(seen), "its snapshot cannot be used: "));
}

TEST_CASE("a snapshot of another runtime than the job began with is named as useless", "[explain]") {
    RelatedObjects seen = running();
    add_snapshot(seen);
    seen.job["status"]["runtimeDigest"] = controller::runtime_digest(seen.runtime.found);
    CHECK_FALSE(has(screen(seen), "cannot be used"));
    seen.job["status"]["runtimeDigest"] = "sha256:0";
    CHECK(has(screen(seen),
              "its snapshot cannot be used: it does not hold the runtime that the job began with\n"));
    CHECK_FALSE(has(screen(seen), "changed since the job began"));
}

TEST_CASE("a Pod's problem is one line, and comes first", "[explain]") {
    struct Row {
        const char* pod;
        const char* text;
    };
    const Row rows[] = {
        {R"({"status": {"phase": "Running"}})", "Running\n"},
        {R"({"status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": "0/4 nodes are available: 4 Insufficient nvidia.com/gpu."}]}})",
         "Pending; no node: 0/4 nodes are available: 4 Insufficient nvidia.com/gpu.\n"},
        {R"({"spec": {"schedulingGates": [{"name": "kueue"}, {"name": "b"}]}, "status": {"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}})",
         "Pending; waits for scheduling gates: kueue, b\n"},
        {R"({"spec": {"nodeName": "n1"}, "status": {"phase": "Pending", "containerStatuses": [{"name": "node", "state": {"waiting":
            {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}}]}})",
         "Pending on n1; container node: ImagePullBackOff: Back-off pulling image\n"},
        {R"({"status": {"phase": "Pending", "containerStatuses": [{"name": "node", "state": {"waiting": {"reason": "ContainerCreating"}}}]}})",
         "Pending\n"},
        {R"({"status": {"phase": "Running", "containerStatuses": [{"name": "node", "restartCount": 3, "state": {"waiting":
            {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]}})",
         "Running; container node: CrashLoopBackOff; before: OOMKilled, exit code 137 (restarted 3 times)\n"},
        {R"({"status": {"phase": "Running", "containerStatuses": [{"name": "node", "restartCount": 1, "state": {"running": {}},
            "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}}}]}})",
         "Running; container node: ended with exit code 1 (restarted once)\n"},
        {R"({"status": {"phase": "Failed", "initContainerStatuses": [{"name": "fetch", "state": {"terminated":
            {"exitCode": 2, "reason": "Error", "message": "no such bucket"}}}]}})",
         "Failed; container fetch: exit code 2: no such bucket\n"},
        {R"({"status": {"phase": "Failed", "reason": "Evicted", "message": "The node was low on memory"}})",
         "Failed; Evicted: The node was low on memory\n"},
        {R"({"metadata": {"deletionTimestamp": "2026-01-15T12:00:20Z"}, "spec": {"nodeName": "n9"}, "status": {"phase": "Running",
            "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting"}]}})",
         "Terminating on n9; EvictionByEvictionAPI: Eviction API: evicting\n"},
        {R"({"metadata": {"deletionTimestamp": "2026-01-15T11:50:00Z"}, "spec": {"nodeName": "n9"}, "status": {"phase": "Running"}})",
         "Terminating on n9; should have ended 10m ago; its node n9 does not let go of it\n"},
    };
    for (const Row& row : rows) {
        INFO(row.pod);
        RelatedObjects seen = running();
        seen.pods.found = {pod("p", row.pod)};
        CHECK(has(screen(seen), std::string("            p  ") + row.text));
    }

    RelatedObjects again = running();
    again.pods.found = {pod("p", R"({"metadata": {"creationTimestamp": "2026-01-15T10:59:59Z",
        "deletionTimestamp": "2026-01-15T12:00:20Z"}, "spec": {"nodeName": "n1"}, "status": {"phase": "Running"}})")};
    CHECK(has(screen(again), "            p  Terminating on n1; of an earlier TrainJob of this name\n"));

    RelatedObjects seen = running();
    for (int i = 0; i < 40; ++i)
        seen.pods.found.push_back(pod("a" + std::to_string(i), R"({"status": {"phase": "Running"}})"));
    seen.pods.found.push_back(pod("z", rows[1].pod));
    const std::string text = screen(seen);
    CHECK(has(text, "Pods      1 Pending, 40 Running\n            z  Pending; no node"));
    CHECK(has(text, "            and 25 more\n"));
}

TEST_CASE("of the last lines of a log, a Pod's problem has the end", "[explain]") {
    RelatedObjects seen = running();
    seen.pods.found = {pod("p", R"({"status": {"phase": "Failed", "containerStatuses": [
        {"name": "node", "state": {"terminated": {"exitCode": 1, "reason": "Error"}}}]}})")};
    seen.pods.found[0]["status"]["containerStatuses"].items()[0]["state"]["terminated"]["message"] =
        std::string(2000, 'x') + "\nValueError: step 40\n\n";
    CHECK(has(screen(seen), "p  Failed; container node: exit code 1: …" + std::string(179, 'x') +
                                "\\nValueError: step 40\n"));
}

TEST_CASE("only a few events are shown, the latest last", "[explain]") {
    RelatedObjects seen = running();
    for (int i = 20; i > 0; --i)
        seen.events.found.push_back(
            Json::object({{"reason", "R" + std::to_string(i)},
                          {"type", "Warning"},
                          {"message", "m"},
                          {"count", i},
                          {"lastTimestamp", api::format_time(now - std::chrono::minutes(i))}}));
    const std::string text = screen(seen);
    CHECK(has(text, "Events    8m ago    R8 (8 times): m\n"));
    CHECK(has(text, "          1m ago    R1: m\n"));
    CHECK_FALSE(has(text, "R9"));
}

TEST_CASE("equal problems of many Pods are shown once", "[explain]") {
    RelatedObjects seen = running();
    for (const char* name : {"a", "b", "c"})
        seen.events.found.push_back(
            Json::object({{"reason", "FailedMount"},
                          {"type", "Warning"},
                          {"message", "no volume"},
                          {"involvedObject", Json::object({{"kind", "Pod"}, {"name", name}})},
                          {"lastTimestamp", "2026-01-15T11:59:00Z"}}));
    CHECK(has(screen(seen), "Events    1m ago  Pod a  FailedMount (3 times): no volume\n"));
}

TEST_CASE("Pods are sorted by Job and number", "[explain]") {
    RelatedObjects seen = running();
    for (const char* index : {"10", "9", "0"}) {
        Json each = pod(std::string("night-node-0-") + index,
                        R"({"spec": {"nodeName": "n1"}, "status": {"phase": "Running"}})");
        each["metadata"]["labels"]["batch.kubernetes.io/job-name"] = "night-node-0";
        each["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] = index;
        seen.pods.found.push_back(each);
    }
    CHECK(has(screen(seen),
              "Pods      3 Running, on 1 node\n"
              "            night-node-0-0  Running on n1\n"
              "            night-node-0-9  Running on n1\n"
              "            night-node-0-10  Running on n1\n"));
}

TEST_CASE("no object can send a terminal control characters", "[explain]") {
    RelatedObjects seen = running();
    seen.pods.found = {
        pod("p\x1b[31m", "{\"status\": {\"phase\": \"Failed\", \"message\": \"a\\u009bb\\nc\\u007f\"}}")};
    const std::string text = screen(seen);
    CHECK(has(text, "p\\x1b[31m  Failed; a\\x9bb\\nc\\x7f"));
    CHECK(has(screen(seen, {.colours = Colours::yes}), "\x1b[31m"));
}

TEST_CASE("any shape of an object makes a screen", "[explain]") {
    for (const char* text : {"null", "[]", "{}", "7", R"({"metadata": 1, "spec": [], "status": "x"})"}) {
        RelatedObjects seen;
        seen.job = seen.runtime.found = seen.snapshot.found = seen.job_set.found = parsed(text);
        seen.pods.found = seen.events.found = {parsed(text)};
        CHECK_FALSE(screen(seen).empty());
    }
}

}  // namespace cli
