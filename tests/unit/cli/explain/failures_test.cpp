// The Pods that failed first in `kubectl trainjob explain`.
#include <catch2/catch.hpp>

#include <fstream>

#include "related_objects.hpp"
#include "support/places.hpp"

namespace cli {
namespace {

RelatedObjects failed(const std::string& message = failed_message) {
    RelatedObjects seen = running();
    seen.job["status"]["conditions"].push_back(condition("Failed", "True", "FailedJobs", message.c_str()));
    seen.job["status"]["failures"] = failures();
    return seen;
}

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

}  // namespace

TEST_CASE("a failed job names the Pod that failed first, once", "[explain]") {
    RelatedObjects seen = failed();
    seen.pods.found = {
        pod("night-node-0-0-x",
            R"({"spec": {"nodeName": "gpu-1"}, "status": {"phase": "Failed", "containerStatuses": [
            {"name": "node", "state": {"terminated": {"exitCode": 1, "message": "peer 3 is gone"}}}]}})"),
        pod("night-node-0-3-x",
            R"({"spec": {"nodeName": "gpu-17"}, "status": {"phase": "Failed", "containerStatuses": [
            {"name": "node", "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled", "message": "killed at step 40"}}}]}})")};
    seen.events.found = {
        parsed(R"({"reason": "FailedJobs", "involvedObject": {"kind": "TrainJob"}, "type": "Warning",
                                    "lastTimestamp": "2026-01-15T11:30:00Z"})")};
    seen.events.found[0]["message"] = failed_message;
    const std::string text = screen(seen);
    CHECK(has(text,
              "State     failed 30m ago (FailedJobs)\n"
              "          jobset failed due to one or more job failures\n"
              "Failure   Pod night-node-0-3-x on node gpu-17: OOMKilled, exit code 137; 7 more Pods failed\n"
              "          node-3, container node; 30m 10s ago, attempt 2\n"
              "            killed at step 40\n"
              "Deadline  "));
    CHECK(has(text,
              "Pods      2 Failed, on 2 nodes\n"
              "            night-node-0-3-x  Failed on gpu-17; failed first\n"
              "            night-node-0-0-x  Failed on gpu-1; container node: exit code 1: peer 3 is gone\n"
              "Events    30m ago  TrainJob  FailedJobs: jobset failed due to one or more job failures\n"));
    CHECK(count(text, "OOMKilled") == 1);
    CHECK(count(text, "killed at step 40") == 1);
}

TEST_CASE("what is not known of a failure is left out", "[explain]") {
    struct Row {
        const char* name;
        const char* failure;
        const char* text;
    };
    const Row rows[] = {
        {"a Pod that its node refused", R"({"pod": "p", "node": "n", "reason": "UnexpectedAdmissionError",
            "message": "the GPU is lost", "failedPods": 1, "replicatedJob": "node", "index": 0, "attempt": 1})",
         "Failure   Pod p on node n: UnexpectedAdmissionError\n"
         "          node-0; 30m 10s ago, attempt 1\n"
         "            the GPU is lost\n"},
        {"a Pod without a number", R"({"pod": "p", "reason": "Error", "exitCode": 3, "failedPods": 2,
            "replicatedJob": "launcher", "container": "c"})",
         "Failure   Pod p: exit code 3; one more Pod failed\n"
         "          launcher, container c; 30m 10s ago\n"
         "Deadline"},
        {"no Pod that is left", R"({"attempt": 1, "failedPods": 0, "message": "jobset failed"})",
         "Failure   no failed Pod is left\n"
         "          30m 10s ago, attempt 1\n"
         "            jobset failed\n"},
        {"an attempt that hung", R"json({"attempt": 1, "failedPods": 0, "reason": "ProgressDeadlineExceeded",
            "message": "no progress for 35m (limit 30m)", "decision": "Restart", "rule": -1})json",
         "Failure   ProgressDeadlineExceeded\n"
         "          30m 10s ago, attempt 1; restarted, counted\n"
         "            no progress for 35m (limit 30m)\n"},
        {"nothing but the Pod", R"({"pod": "p"})", "Failure   Pod p\n          30m 10s ago\nDeadline"},
    };
    for (const Row& row : rows) {
        INFO(row.name);
        RelatedObjects seen = failed();
        Json failure = parsed(row.failure);
        failure["time"] = "2026-01-15T11:29:50Z";
        seen.job["status"]["failures"] = Json::array({failure});
        INFO(screen(seen));
        CHECK(has(screen(seen), row.text));
    }
    CHECK_FALSE(has(screen(running()), "Failure"));
}

TEST_CASE("a message that does not end with the failure is shown as it is", "[explain]") {
    // Another end, after an earlier attempt had failed.
    CHECK(has(screen(failed("TrainJob ran for longer. Its deadline was 2h")),
              "          TrainJob ran for longer. Its deadline was 2h\nFailure   Pod night-node-0-3-x"));
    // One without words of the JobSet.
    const std::string only =
        std::string(failed_message).substr(std::string(failed_message).find("The first"));
    CHECK(has(screen(failed(only)), "State     failed 30m ago (FailedJobs)\nFailure   Pod"));
}

TEST_CASE("the hang that ended a job is shown once", "[explain]") {
    RelatedObjects seen = failed(
        "the TrainJob has used the restarts of its failure policy: 1. The last attempt: no report for "
        "35m since all Pods had started (limit 30m)");
    seen.job["status"]["failures"] = Json::array({parsed(R"json({"attempt": 1, "failedPods": 0,
        "time": "2026-01-15T11:30:00Z", "reason": "ProgressDeadlineExceeded", "decision": "Fail", "rule": -1,
        "message": "no report for 35m since all Pods had started (limit 30m)"})json")});
    const std::string text = screen(seen);
    INFO(text);
    CHECK(has(text,
              "          the TrainJob has used the restarts of its failure policy: 1\n"
              "Failure   ProgressDeadlineExceeded\n"
              "          30m ago, attempt 1; ended the job\n"
              "            no report for 35m since all Pods had started (limit 30m)\n"));
    CHECK(count(text, "no report for") == 1);
}

TEST_CASE("failures of earlier attempts have a line each", "[explain]") {
    RelatedObjects seen = failed();
    Json before = failures().items()[0];
    before["time"] = "2026-01-15T11:10:00Z";
    before["message"] = "";
    seen.job["status"]["failures"].push_back(before);
    CHECK(has(screen(seen),
              "            killed at step 40\n"
              "          before, 50m ago, attempt 2: Pod night-node-0-3-x on node gpu-17: OOMKilled, exit "
              "code 137; 7 more "
              "Pods failed\n"));
}

TEST_CASE("what a failure policy made of a failure is said in words", "[explain]") {
    const std::pair<const char*, const char*> rows[] = {
        {R"({"decision": "Restart", "rule": 0})", "attempt 0; restarted, counted (rule 0)\n"},
        {R"({"decision": "Restart", "rule": -1, "attempt": 1})", "attempt 1; restarted, counted\n"},
        {R"({"decision": "RestartUncounted", "rule": -2, "excludesNode": true})",
         "attempt 0; restarted, not counted (infrastructure); avoids node gpu-17\n"},
        {R"({"decision": "RestartUncounted", "rule": 3})", "attempt 0; restarted, not counted (rule 3)\n"},
        {R"({"decision": "Fail", "rule": 1, "attempt": 4})", "attempt 4; ended the job (rule 1)\n"},
        {R"({"decision": "Fail", "rule": -1, "attempt": 3})", "attempt 3; ended the job\n"},
    };
    for (const auto& [failure, text] : rows) {
        RelatedObjects seen = running();
        Json each = parsed(failure);
        each["time"] = "2026-01-15T11:50:00Z";
        each["pod"] = "p";
        each["node"] = "gpu-17";
        seen.job["status"]["failures"] = Json::array({each});
        INFO(screen(seen));
        CHECK(has(screen(seen), std::string("          10m ago, ") + text));
        each["time"] = "2026-01-15T11:10:00Z";
        each["decision"] = "RestartUncounted";
        each["rule"] = -2;
        each["attempt"] = 0;
        each["excludesNode"] = false;
        seen.job["status"]["failures"].push_back(each);
        CHECK(has(screen(seen),
                  "          before, 50m ago, attempt 0; restarted, not counted (infrastructure): Pod p on "
                  "node gpu-17\n"));
    }
}

// The guide shows them beside the status of Kubeflow Trainer.
TEST_CASE("four troubles read as in docs/kubectl-trainjob.md", "[explain]") {
    struct Row {
        const char* failure;
        const char* first;
        const char* second;
    };
    const Row rows[] = {
        {R"({"pod": "night-node-0-2-h5w9c", "node": "gpu-17", "replicatedJob": "node", "index": 2, "failedPods": 1,
             "reason": "UnexpectedAdmissionError", "decision": "RestartUncounted", "rule": -2, "excludesNode": true})",
         "Pod night-node-0-2-h5w9c on node gpu-17: UnexpectedAdmissionError",
         "attempt 0; restarted, not counted (infrastructure); avoids node gpu-17"},
        {R"({"pod": "night-node-0-3-x7k2p", "node": "gpu-4", "replicatedJob": "node", "index": 3, "failedPods": 8,
             "container": "node", "reason": "OOMKilled", "exitCode": 137, "decision": "Restart", "rule": -1})",
         "Pod night-node-0-3-x7k2p on node gpu-4: OOMKilled, exit code 137; 7 more Pods failed",
         "attempt 0; restarted, counted"},
        {R"({"pod": "night-node-0-6-q2v8t", "node": "gpu-7", "replicatedJob": "node", "index": 6, "failedPods": 8,
             "container": "node", "reason": "Error", "exitCode": 42, "decision": "Fail", "rule": 0})",
         "Pod night-node-0-6-q2v8t on node gpu-7: exit code 42; 7 more Pods failed",
         "attempt 0; ended the job (rule 0)"},
        {R"({"reason": "DisruptionTarget", "failedPods": 0, "decision": "RestartUncounted", "rule": -2})",
         "a Pod was disrupted: its node was drained, tainted or lost, or another Pod took its place",
         "attempt 0; restarted, not counted (infrastructure)"},
    };
    std::ifstream file(test::source() / "docs" / "kubectl-trainjob.md");
    const std::string guide{std::istreambuf_iterator<char>(file), {}};
    for (const Row& row : rows) {
        RelatedObjects seen = running();
        Json failure = parsed(row.failure);
        failure["time"] = "2026-01-15T11:59:48Z";
        seen.job["status"]["failures"] = Json::array({failure});
        INFO(screen(seen));
        CHECK(has(screen(seen), std::string("Failure   ") + row.first + "\n"));
        CHECK(has(screen(seen), std::string(" 12s ago, ") + row.second + "\n"));
        CHECK(has(guide, row.first));
        CHECK(has(guide, row.second));
    }
}

TEST_CASE("the Pod that failed first is listed before all others", "[explain]") {
    RelatedObjects seen = failed();
    for (int i = 0; i < 20; ++i)
        seen.pods.found.push_back(
            pod("a" + std::to_string(i), R"({"status": {"phase": "Failed", "message": "gone"}})"));
    Json first = pod("night-node-0-3-x", R"({"status": {"phase": "Failed"}})");
    first["metadata"]["labels"]["batch.kubernetes.io/job-name"] = "z";
    seen.pods.found.push_back(first);
    CHECK(has(screen(seen), "Pods      21 Failed\n            night-node-0-3-x  Failed; failed first\n"));
    // While it does not go away, that is what matters.
    seen.pods.found.back()["metadata"]["deletionTimestamp"] = "2026-01-15T11:50:00Z";
    CHECK_FALSE(has(screen(seen), "failed first"));
}

TEST_CASE("the last words of a program do nothing to a terminal or a CI", "[explain]") {
    RelatedObjects seen = failed();
    Json& failure = seen.job["status"]["failures"].items()[0];
    failure["message"] = "::error::lost\x1b[2J\nState     complete";
    failure["node"] = "n\x1b[31m";
    const std::string text = screen(seen);
    CHECK(has(text, "            \\x3a:error::lost\\x1b[2J\\nState     complete\n"));
    CHECK(has(text, " on node n\\x1b[31m: OOMKilled"));
    CHECK_FALSE(has(text, "\x1b"));
}

}  // namespace cli
