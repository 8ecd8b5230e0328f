// The progress of a training in `kubectl trainjob explain`: reports, and their deadlines.
#include "explain/progress.hpp"

#include <catch2/catch.hpp>

#include "explain/model.hpp"
#include "related_objects.hpp"

namespace cli {
namespace {

constexpr const char* seconds_annotation = "trainer.kubeflow.org/progress-deadline-seconds";
constexpr const char* action_annotation = "trainer.kubeflow.org/progress-deadline-action";

// Reported five minutes ago, and progress half an hour ago.
RelatedObjects reporting() {
    RelatedObjects seen = running();
    seen.job["status"]["trainerStatus"] = parsed(
        R"({"progressPercentage": 40, "estimatedRemainingSeconds": 600, "lastUpdatedTime": "2026-01-15T11:55:00Z",
            "lastProgressTime": "2026-01-15T11:30:00Z", "metrics": [{"name": "loss", "value": "0.3"}]})");
    return seen;
}

Json progress_lease(const std::string& since, const std::string& renewed) {
    return Json::object({{"spec", Json::object({{"acquireTime", "2026-01-15T" + since + ".000000Z"},
                                                {"renewTime", "2026-01-15T" + renewed + ".000000Z"}})}});
}

RelatedObjects with_deadline(const char* limit) {
    RelatedObjects seen = reporting();
    seen.job["metadata"]["annotations"][seconds_annotation] = limit;
    seen.progress_lease_key = {"kubeflow-system", "signalbox-progress"};
    seen.progress_lease.found = progress_lease("09:00:00", "11:59:55");
    return seen;
}

// A remark on a deadline.
struct Row {
    const char* name;
    void (*change)(RelatedObjects&);
    const char* text;
};

std::string screen_of(const Row& row, RelatedObjects seen) {
    row.change(seen);
    return screen(seen);
}

}  // namespace

TEST_CASE("progress is shown with its ages, the reported end and metrics", "[explain]") {
    CHECK_FALSE(has(screen(running()), "Progress"));
    RelatedObjects seen = reporting();
    CHECK(has(screen(seen),
              "Progress  40%, 5m left, reported 5m ago, last progress 30m ago\n"
              "          ends 55m before its deadline\n"
              "          loss 0.3\n"
              "Deadline"));
    Json& status = seen.job["status"]["trainerStatus"];
    status["lastUpdatedTime"] = "2026-01-15T11:10:00Z";
    CHECK(has(screen(seen), "40%, 0s left, nothing reported since 50m ago, last progress 30m ago\n"));
    status["estimatedRemainingSeconds"] = 7800;
    CHECK(has(screen(seen), "          ends 20m after its deadline\n"));
    for (const char* name :
         {"estimatedRemainingSeconds", "metrics", "lastProgressTime", "progressPercentage"})
        status.erase(name);
    CHECK(has(screen(seen), "Progress  nothing reported since 50m ago\nDeadline"));
}

TEST_CASE("the progress of an ended job has no times that are left", "[explain]") {
    RelatedObjects seen = with_deadline("1800");
    seen.job["status"]["conditions"].push_back(condition("Complete", "True", "AllJobsCompleted"));
    CHECK(has(screen(seen), "Progress  40%, reported 5m ago\n          loss 0.3\nDeadline"));
    CHECK(document_of(seen)["progressDeadline"].is_null());
}

TEST_CASE("eight metrics are shown, without control characters", "[explain]") {
    RelatedObjects seen = reporting();
    Json& metrics = seen.job["status"]["trainerStatus"]["metrics"];
    metrics = Json::array();
    for (int i = 0; i < 10; ++i)
        metrics.push_back(Json::object({{"name", "m" + std::to_string(i)}, {"value", "\x1b[2J"}}));
    const std::string text = screen(seen);
    CHECK(has(text, "          m0 \\x1b[2J, m1 \\x1b[2J,"));
    CHECK(has(text, "m7 \\x1b[2J, and 2 more\n"));
    CHECK(document_of(seen)["progress"]["metrics"].items().size() == 10);
}

TEST_CASE("a terminal gets a bar of the progress", "[explain]") {
    const Terminal terminal = {.is_terminal = true, .glyphs = Glyphs::ascii};
    CHECK(has(screen(reporting(), terminal), "Progress  ########............ 40%, 5m left"));
}

TEST_CASE("the progress deadline is shown with what is left, or why it does not run", "[explain]") {
    const Row rows[] = {
        {"runs, with the time that a report may wait", [](RelatedObjects&) {}, "1h, then Warn: 31m left\n"},
        {"fails the job",
         [](RelatedObjects& s) { s.job["metadata"]["annotations"][action_annotation] = "Fail"; },
         "1h, then Fail: 31m left\n"},
        {"passed", [](RelatedObjects& s) { s.job["metadata"]["annotations"][seconds_annotation] = "600"; },
         "10m, then Warn: passed 19m ago\n"},
        {"counts from the end of an outage",
         [](RelatedObjects& s) { s.progress_lease.found = progress_lease("11:50:00", "11:59:55"); },
         "1h, then Warn: 51m left\n"},
        {"a Lease that may not be read",
         [](RelatedObjects& s) { s.progress_lease = {.found = {}, .unread = "forbidden"}; },
         "1h, then Warn: 31m left, or later: the lease kubeflow-system/signalbox-progress could not be "
         "read\n"},
        {"during an outage",
         [](RelatedObjects& s) { s.progress_lease.found = progress_lease("09:00:00", "11:58:59"); },
         "1h, then Warn: no verdict: no server of progress renews the lease "
         "kubeflow-system/signalbox-progress\n"},
        {"without a Lease", [](RelatedObjects& s) { s.progress_lease.found = Json(); },
         "1h, then Warn: no verdict: no server of progress renews the lease "
         "kubeflow-system/signalbox-progress\n"},
        {"never reported", [](RelatedObjects& s) { s.job["status"].erase("trainerStatus"); },
         "1h, then Warn: not armed: the job has not reported yet\n"},
        {"reported before its last start",
         [](RelatedObjects& s) {
             Json resumed = condition("Suspended", "False", "Resumed");
             resumed["lastTransitionTime"] = "2026-01-15T11:30:01Z";
             s.job["status"]["conditions"].push_back(resumed);
         },
         "1h, then Warn: not armed: the job has not reported since its last start\n"},
        {"reported before its last attempt",
         [](RelatedObjects& s) {
             make_attempt(s, "1");
             s.job["status"]["restarts"] = 1;
             s.job_set.found["metadata"]["creationTimestamp"] = "2026-01-15T11:30:01Z";
         },
         "1h, then Warn: not armed: the job has not reported since its last start\n"},
        {"between attempts",
         [](RelatedObjects& s) {
             s.job["status"]["conditions"].push_back(condition("Restarting", "True", "BackingOff"));
         },
         "1h, then Warn: not armed: the job has not reported since its last start\n"},
        {"to be suspended", [](RelatedObjects& s) { s.job["spec"]["suspend"] = true; },
         "1h, then Warn: not armed: the job is suspended\n"},
        {"suspended",
         [](RelatedObjects& s) {
             s.job["status"]["conditions"].push_back(condition("Suspended", "True", "Suspended"));
         },
         "1h, then Warn: not armed: the job is suspended\n"},
        {"of another controller",
         [](RelatedObjects& s) { s.job["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"; },
         "1h, then Warn: not armed: another controller manages the job\n"},
        {"too short", [](RelatedObjects& s) { s.job["metadata"]["annotations"][seconds_annotation] = "59"; },
         "none: metadata.annotations[trainer.kubeflow.org/progress-deadline-seconds]: Invalid value: \"59\": "
         "must "
         "be a number of seconds from 60 to 2147483647\n"},
        {"too long",
         [](RelatedObjects& s) { s.job["metadata"]["annotations"][seconds_annotation] = "2147483648"; },
         "none: metadata.annotations[trainer.kubeflow.org/progress-deadline-seconds]: Invalid value: "
         "\"2147483648\": must be a number of seconds from 60 to 2147483647\n"},
        {"no number", [](RelatedObjects& s) { s.job["metadata"]["annotations"][seconds_annotation] = "60s"; },
         "none: metadata.annotations[trainer.kubeflow.org/progress-deadline-seconds]: Invalid value: "
         "\"60s\": "},
        {"another action",
         [](RelatedObjects& s) { s.job["metadata"]["annotations"][action_annotation] = "fail"; },
         "none: metadata.annotations[trainer.kubeflow.org/progress-deadline-action]: Invalid value: "
         "\"fail\": "
         "must be Warn, Fail or Restart\n"},
        {"an action alone",
         [](RelatedObjects& s) {
             s.job["metadata"]["annotations"].erase(seconds_annotation);
             s.job["metadata"]["annotations"][action_annotation] = "Fail";
         },
         "none: metadata.annotations[trainer.kubeflow.org/progress-deadline-action]: Invalid value: "
         "\"Fail\": "
         "has no effect without trainer.kubeflow.org/progress-deadline-seconds or "
         "trainer.kubeflow.org/start-deadline-seconds\n"},
    };
    for (const Row& row : rows) {
        INFO(row.name);
        const std::string text = screen_of(row, with_deadline("3600"));
        INFO(text);
        CHECK(has(text, std::string(" progress deadline ") + row.text));
    }
    RelatedObjects silent = with_deadline("3600");
    silent.job["status"].erase("trainerStatus");
    CHECK(has(screen(silent), "Progress  progress deadline 1h"));
    CHECK_FALSE(has(screen(reporting()), "progress deadline"));
}

namespace {

constexpr const char* start_annotation = "trainer.kubeflow.org/start-deadline-seconds";

// All its Pods have run for half an hour, and it has reported nothing.
RelatedObjects starting(const char* limit = "3600") {
    RelatedObjects seen = running();
    seen.job["metadata"]["annotations"][start_annotation] = limit;
    seen.job["status"]["attemptStartTime"] = "2026-01-15T11:30:00Z";
    seen.progress_lease_key = {"kubeflow-system", "signalbox-progress"};
    seen.progress_lease.found = progress_lease("09:00:00", "11:59:55");
    return seen;
}

}  // namespace

TEST_CASE("the start deadline is shown until the first report", "[explain]") {
    const Row rows[] = {
        {"runs, with the time that a report may wait", [](RelatedObjects&) {}, "1h, then Warn: 31m left\n"},
        {"restarts the job",
         [](RelatedObjects& s) { s.job["metadata"]["annotations"][action_annotation] = "Restart"; },
         "1h, then Restart: 31m left\n"},
        {"passed", [](RelatedObjects& s) { s.job["metadata"]["annotations"][start_annotation] = "600"; },
         "10m, then Warn: passed 19m ago\n"},
        {"counts from the end of an outage",
         [](RelatedObjects& s) { s.progress_lease.found = progress_lease("11:50:00", "11:59:55"); },
         "1h, then Warn: 51m left\n"},
        {"not all Pods have started", [](RelatedObjects& s) { s.job["status"].erase("attemptStartTime"); },
         "1h, then Warn: not armed: not all Pods have started\n"},
        {"between attempts",
         [](RelatedObjects& s) {
             s.job["status"]["conditions"].push_back(condition("Restarting", "True", "BackingOff"));
         },
         "1h, then Warn: not armed: not all Pods have started\n"},
        {"to be suspended", [](RelatedObjects& s) { s.job["spec"]["suspend"] = true; },
         "1h, then Warn: not armed: the job is suspended\n"},
        {"of another controller",
         [](RelatedObjects& s) { s.job["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"; },
         "1h, then Warn: not armed: another controller manages the job\n"},
    };
    for (const Row& row : rows) {
        INFO(row.name);
        const std::string text = screen_of(row, starting());
        INFO(text);
        CHECK(has(text, std::string("Progress  start deadline ") + row.text));
        CHECK_FALSE(has(text, "progress deadline"));
    }
    RelatedObjects reported = reporting();
    reported.job["metadata"]["annotations"][start_annotation] = "3600";
    reported.job["status"]["attemptStartTime"] = "2026-01-15T11:10:00Z";
    CHECK_FALSE(has(screen(reported), "deadline 1h, then"));
    RelatedObjects both = starting();
    both.job["metadata"]["annotations"][seconds_annotation] = "600";
    CHECK(has(screen(both),
              "Progress  start deadline 1h, then Warn: 31m left\n"
              "          progress deadline 10m, then Warn: not armed: the job has not reported yet\n"));
    CHECK(has(screen(starting("1h")),
              "progress deadline none: metadata.annotations[trainer.kubeflow.org/start-deadline-seconds]: "));
    RelatedObjects ended = starting();
    ended.job["status"]["conditions"].push_back(condition("Complete", "True", "AllJobsCompleted"));
    CHECK_FALSE(has(screen(ended), "start deadline"));
}

TEST_CASE("the document has the time of progress and of its deadlines", "[explain]") {
    CHECK(document_of(starting())["startDeadline"] ==
          parsed(R"({"seconds": 3600, "action": "Warn", "armed": true, "passes": "2026-01-15T12:31:00Z"})"));
    CHECK(document_of(starting())["progressDeadline"].is_null());
    CHECK(document_of(with_deadline("3600"))["startDeadline"].is_null());
    Json document = document_of(with_deadline("3600"));
    CHECK(document["progress"]["advanced"] == Json("2026-01-15T11:30:00Z"));
    CHECK(document["progressDeadline"] ==
          parsed(R"({"seconds": 3600, "action": "Warn", "armed": true, "passes": "2026-01-15T12:31:00Z"})"));
    RelatedObjects suspended = with_deadline("3600");
    suspended.job["spec"]["suspend"] = true;
    document = document_of(suspended);
    CHECK(document["progressDeadline"] ==
          parsed(R"({"seconds": 3600, "action": "Warn", "armed": false, "remark": "the job is suspended"})"));
}

}  // namespace cli
