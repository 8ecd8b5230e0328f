// The timeline of `kubectl trainjob timeline`.
#include <catch2/catch.hpp>

#include "fixtures.hpp"
#include "timeline/model.hpp"

namespace cli {
namespace {

using api::Json;
using namespace std::chrono_literals;

api::Time at(const std::string& time) { return api::parse_time("2026-01-15T" + time + "Z").value(); }
std::string stamp(const std::string& time) { return "\"2026-01-15T" + time + "Z\""; }

Json condition(const std::string& type, const std::string& status, const std::string& time) {
    return parsed(R"({"type": ")" + type + R"(", "status": ")" + status +
                  R"(", "reason": "R", "lastTransitionTime": )" + stamp(time) + "}");
}

TimelineObjects submitted() {
    TimelineObjects seen;
    seen.job = parsed(
        R"({"metadata": {"name": "night", "namespace": "vision", "creationTimestamp": "2026-01-15T11:00:00Z"}})");
    seen.job["status"]["conditions"] = Json::array({condition("Created", "True", "11:00:01")});
    return seen;
}

// A time that is "" is not set.
Json pod(const std::string& name, const std::string& created, const std::string& scheduled,
         const std::string& started) {
    Json made =
        parsed(R"({"metadata": {"name": ")" + name + R"(", "creationTimestamp": )" + stamp(created) + "}}");
    made["status"]["phase"] = started.empty() ? "Pending" : "Running";
    if (scheduled.empty())
        made["status"]["conditions"] = Json::array({parsed(
            R"({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/4 nodes are available"})")});
    else
        made["status"]["conditions"] = Json::array({condition("PodScheduled", "True", scheduled)});
    if (!started.empty())
        made["status"]["containerStatuses"] =
            parsed(R"([{"name": "node", "state": {"running": {"startedAt": )" + stamp(started) + "}}}]");
    return made;
}

Json pod_event(const std::string& reason, const std::string& pod_name, const std::string& time,
               const std::string& message = "") {
    Json event = parsed(R"({"involvedObject": {"kind": "Pod"}, "firstTimestamp": )" + stamp(time) +
                        R"(, "lastTimestamp": )" + stamp(time) + "}");
    event["reason"] = reason;
    event["message"] = message;
    event["involvedObject"]["name"] = pod_name;
    return event;
}

Json pulling(const std::string& pod_name, const std::string& image, const std::string& time) {
    return pod_event("Pulling", pod_name, time, "Pulling image \"" + image + "\"");
}

Json pulled(const std::string& pod_name, const std::string& image, const std::string& time) {
    return pod_event("Pulled", pod_name, time, "Successfully pulled image \"" + image + "\" in 14s");
}

// The event of a container that was started `count` times.
Json started(const std::string& pod_name, const std::string& first, const std::string& last, int count = 1) {
    Json event = pod_event("Started", pod_name, last);
    event["firstTimestamp"] = "2026-01-15T" + first + "Z";
    event["count"] = count;
    return event;
}

// A job that ended, and of which the cluster has neither JobSet nor Pods any more.
TimelineObjects without_objects(const std::string& type, const std::string& time) {
    TimelineObjects seen = submitted();
    seen.job["status"]["jobsStatus"] = parsed(R"([{"name": "node", "active": 1}])");
    seen.job["status"]["conditions"] = Json::array({condition(type, "True", time)});
    return seen;
}

std::string stages_of(const Timeline& timeline) {
    std::string text;
    for (const Span& stage : timeline.stages)
        text += stage.name + " " + std::to_string((stage.begin - timeline.begin).count() / 60) + "-" +
                std::to_string((stage.end - timeline.begin).count() / 60) + (stage.goes_on ? "... " : " ");
    return text;
}

}  // namespace

TEST_CASE("a stage ends when the last Pod has left it", "[timeline]") {
    TimelineObjects seen = submitted();
    seen.pods = {pod("a", "11:01:00", "11:02:00", "11:20:00"), pod("b", "11:05:00", "11:10:00", "11:30:00")};
    CHECK(stages_of(timeline_of(seen, now)) == "creation 0-5 scheduling 5-10 start 10-30 running 30-60... ");
    seen.events = {pulling("a", "x", "11:02:00"), pulled("a", "x", "11:15:00"),
                   pulling("b", "x", "11:10:00"), pulled("b", "x", "11:12:00"),
                   pulling("b", "y", "11:12:00"), pulled("b", "y", "11:25:00")};
    CHECK(stages_of(timeline_of(seen, now)) ==
          "creation 0-5 scheduling 5-10 image pulls 10-25 start 25-30 running 30-60... ");
    seen.job["status"]["conditions"].push_back(condition("Complete", "True", "11:50:00"));
    for (Json& each : seen.pods) each["status"]["phase"] = "Succeeded";
    const Timeline ended = timeline_of(seen, now);
    CHECK(stages_of(ended).ends_with("running 30-50 "));
    CHECK(ended.title == "TrainJob vision/night, complete, submitted 2026-01-15T11:00:00Z, took 50m");
}

TEST_CASE("the Pods of an earlier job of the name are not drawn", "[timeline]") {
    TimelineObjects seen = submitted();
    seen.pods = {pod("a", "10:00:00", "10:00:00", "10:00:00"), pod("b", "11:01:00", "11:02:00", "11:03:00")};
    const Timeline timeline = timeline_of(seen, now);
    CHECK(stages_of(timeline) == "creation 0-1 scheduling 1-2 start 2-3 running 3-60... ");
    REQUIRE(timeline.nodes.size() == 1);
    CHECK(timeline.nodes.front().name == "b");
}

TEST_CASE("a stage that a Pod has not left is open, with its reason", "[timeline]") {
    TimelineObjects seen = submitted();
    seen.pods = {pod("a", "11:01:00", "11:02:00", "11:20:00"), pod("b", "11:01:00", "", "")};
    const Timeline timeline = timeline_of(seen, now);
    CHECK(stages_of(timeline) == "creation 0-1 scheduling 1-60... ");
    CHECK(timeline.stages.back().note == "98% of the time was lost here: no node: 0/4 nodes are available");
    CHECK(timeline.stages.front().note.empty());
}

TEST_CASE("the time in a queue or suspended is a stage", "[timeline]") {
    TimelineObjects seen = submitted();
    seen.job["status"]["conditions"].push_back(condition("Suspended", "True", "11:00:01"));
    seen.job["spec"]["suspend"] = true;
    CHECK(stages_of(timeline_of(seen, now)) == "suspended 0-60... ");
    seen.job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "team";
    CHECK(stages_of(timeline_of(seen, now)) == "queued 0-60... ");
    seen.job["spec"]["suspend"] = false;
    seen.job["status"]["conditions"].items()[1] = condition("Suspended", "False", "11:30:00");
    seen.pods = {pod("a", "11:31:00", "11:32:00", "11:33:00")};
    const Timeline timeline = timeline_of(seen, now);
    CHECK(stages_of(timeline) == "queued 0-30 creation 30-31 scheduling 31-32 start 32-33 running 33-60... ");
    CHECK(timeline.stages.front().note == "50% of the time was lost here");
    seen.events = {
        parsed(R"({"reason": "Suspended", "involvedObject": {"kind": "TrainJob"}, "lastTimestamp": )" +
               stamp("11:20:00") + "}")};
    CHECK(stages_of(timeline_of(seen, now)).starts_with("before 0-20 queued 20-30 "));
}

TEST_CASE("time before Pods that replace others belongs to earlier attempts", "[timeline]") {
    TimelineObjects seen = submitted();
    seen.pods = {pod("a", "11:30:00", "11:30:00", "11:30:00")};
    seen.job_set["status"]["restarts"] = 2;
    const Timeline timeline = timeline_of(seen, now);
    CHECK(stages_of(timeline) == "earlier attempts 0-30 running 30-60... ");
    CHECK(timeline.notes ==
          std::vector<std::string>{"it was restarted 2 times; Pods are those of the last attempt"});
}

TEST_CASE("the time from a failure to the Pods of the next attempt is a stage", "[timeline]") {
    TimelineObjects seen = submitted();
    seen.job["status"]["failures"] = failures();  // at 29m 50s
    seen.job["status"]["restarts"] = 1;
    seen.pods = {pod("a", "11:40:00", "11:41:00", "11:42:00")};
    const char* after =
        "earlier attempts 0-29 restarting 29-40 scheduling 40-41 start 41-42 running 42-60... ";
    CHECK(stages_of(timeline_of(seen, now)) == after);
    // The present attempt fails.
    seen.job["status"]["conditions"].push_back(condition("Restarting", "True", "11:50:00"));
    seen.job["status"]["failures"].push_back(failures().items()[0]);
    seen.job["status"]["failures"].items()[0]["time"] = "2026-01-15T11:50:00Z";
    const char* between = "earlier attempts 0-50 restarting 50-60... ";
    CHECK(stages_of(timeline_of(seen, now)) == between);
    seen.pods.clear();
    CHECK(stages_of(timeline_of(seen, now)) == between);
    CHECK(timeline_of(seen, now).title.find(", restarting, attempt 1, submitted") != std::string::npos);
    // It was the last one.
    seen.pods = {pod("a", "11:40:00", "11:41:00", "11:42:00")};
    seen.pods[0]["status"]["phase"] = "Failed";
    seen.job["status"]["conditions"].items().back() = condition("Failed", "True", "11:50:00");
    CHECK(stages_of(timeline_of(seen, now)) ==
          "earlier attempts 0-29 restarting 29-40 scheduling 40-41 start 41-42 running 42-50 ");
    // A suspension began anew.
    seen.job["status"]["conditions"].push_back(condition("Suspended", "False", "11:35:00"));
    CHECK(stages_of(timeline_of(seen, now)).find("restarting") == std::string::npos);
}

TEST_CASE("the only attempt has none before it, also if it has failed", "[timeline]") {
    TimelineObjects seen = submitted();
    seen.jobs = {parsed(R"({"status": {"failed": 1}})")};
    seen.pods = {pod("a", "11:10:00", "11:10:00", "11:10:00")};
    seen.pods[0]["status"]["phase"] = "Failed";
    seen.pods[0]["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"] = "0";
    CHECK(stages_of(timeline_of(seen, now)).starts_with("creation 0-10 "));
    seen.pods.push_back(seen.pods[0]);
    seen.pods[1]["metadata"]["name"] = "b";
    seen.pods[1]["metadata"]["creationTimestamp"] = "2026-01-15T11:20:00Z";
    seen.jobs = {parsed(R"({"status": {"failed": 2}})")};
    CHECK(stages_of(timeline_of(seen, now)).starts_with("earlier attempts 0-20 "));
}

TEST_CASE("a Pod that was evicted was an earlier attempt", "[timeline]") {
    TimelineObjects seen = submitted();
    seen.pods = {pod("a", "11:10:00", "11:10:00", "11:10:00"), pod("b", "11:30:00", "11:30:00", "11:30:00")};
    seen.events = {started("a", "11:10:00", "11:10:00"), started("b", "11:30:00", "11:30:00")};
    CHECK(stages_of(timeline_of(seen, now)).starts_with("creation 0-30 "));
    seen.events.push_back(started("gone", "11:10:00", "11:10:00"));
    CHECK(stages_of(timeline_of(seen, now)).starts_with("earlier attempts 0-30 "));
    seen.events.back() = started("namesake", "10:50:00", "10:50:00");
    CHECK(stages_of(timeline_of(seen, now)).starts_with("creation 0-30 "));
}

TEST_CASE("without its Pods, a job's stages are read from its Jobs", "[timeline]") {
    TimelineObjects seen = submitted();
    seen.jobs = {parsed(R"({"status": {"startTime": )" + stamp("11:10:00") + "}}")};
    seen.job["status"]["conditions"].push_back(condition("Failed", "True", "11:40:00"));
    const Timeline timeline = timeline_of(seen, now);
    CHECK(stages_of(timeline) == "creation 0-10 unknown 10-40 ");
    CHECK(timeline.stages.back().note.empty());
    CHECK(timeline.notes ==
          std::vector<std::string>{"its Pods are gone: these are the times of their events"});
}

TEST_CASE("an image that is still pulled, or cannot be, is the stage of its Pod", "[timeline]") {
    TimelineObjects seen = submitted();
    seen.pods = {pod("a", "11:01:00", "11:02:00", ""), pod("b", "11:01:00", "11:02:00", "11:20:00")};
    seen.pods[0]["status"]["containerStatuses"] =
        parsed(R"([{"name": "node", "state": {"waiting": {"reason": "ErrImagePull", "message": "no"}}}])");
    seen.events = {pulling("a", "x", "11:03:00"), pulling("b", "x", "11:03:00"),
                   pulled("b", "x", "11:04:00")};
    const Timeline timeline = timeline_of(seen, now);
    CHECK(stages_of(timeline) == "creation 0-1 scheduling 1-2 image pulls 2-60... ");
    CHECK(timeline.stages.back().note.ends_with(" lost here: container node: ErrImagePull: no"));
    CHECK(timeline.nodes.front().spans.back().name == "image pulls");
}

TEST_CASE("an image that was on the node takes no time", "[timeline]") {
    TimelineObjects seen = submitted();
    seen.pods = {pod("a", "11:01:00", "11:02:00", "11:20:00")};
    seen.events = {pod_event("Pulled", "a", "11:15:00", "Container image \"x\" already present on machine")};
    CHECK(stages_of(timeline_of(seen, now)) == "creation 0-1 scheduling 1-2 start 2-20 running 20-60... ");
    // That of a later container was pulled, and is not timed by the restarts of the other one.
    seen.events.push_back(pulling("a", "y", "11:03:00"));
    seen.events.push_back(pulled("a", "y", "11:05:00"));
    CHECK(stages_of(timeline_of(seen, now)) ==
          "creation 0-1 scheduling 1-2 image pulls 2-5 start 5-20 running 20-60... ");
}

TEST_CASE("after a deadline, events tell when the Pods ran", "[timeline]") {
    TimelineObjects seen = without_objects("Failed", "11:30:00");
    seen.events = {pod_event("Scheduled", "night-node-0-0-abcde", "11:02:00"),
                   started("night-node-0-0-abcde", "11:04:00", "11:04:00"),
                   pod_event("Scheduled", "night-shift-node-0-0-abcde", "11:20:00"),
                   started("night-node-0-0-early", "10:00:00", "10:00:00")};
    CHECK(stages_of(timeline_of(seen, now)) == "scheduling 0-2 start 2-4 running 4-30 ");
    seen.events.clear();
    CHECK(stages_of(timeline_of(seen, now)) == "unknown 0-30 ");
    seen.events = {parsed(R"({"involvedObject": {"kind": "TrainJob"}, "reason": "JobsCreationSucceeded",
                              "lastTimestamp": "2026-01-15T11:03:00Z"})")};
    CHECK(stages_of(timeline_of(seen, now)) == "creation 0-3 unknown 3-30 ");
    // It never had objects.
    seen.job["status"]["conditions"].items().push_back(condition("Created", "False", "11:00:01"));
    CHECK(stages_of(timeline_of(seen, now)) == "creation 0-30 ");
}

TEST_CASE("a program that fails again and again does not run", "[timeline]") {
    TimelineObjects seen = submitted();
    seen.pods = {pod("a", "11:00:00", "11:00:00", "11:58:00")};
    seen.events = {started("a", "11:01:00", "11:58:00", 6)};
    Json& status = seen.pods[0]["status"]["containerStatuses"].items()[0];
    status = parsed(
        R"({"name": "node", "restartCount": 5, "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {
        "terminated": {"exitCode": 1, "startedAt": )" +
        stamp("11:58:00") + R"(, "finishedAt": )" + stamp("11:58:04") + "}}}");
    Timeline timeline = timeline_of(seen, now);
    CHECK(stages_of(timeline) == "start 0-1 fails and is retried 1-60... ");
    CHECK(timeline.stages.back().note.find("CrashLoopBackOff; before: exit code 1") != std::string::npos);
    CHECK(timeline.title.find(", fails and is retried, 5 times, exit code 1, submitted") !=
          std::string::npos);
    CHECK(timeline.nodes[0].spans.back().name == "fails and is retried");
    // An attempt that lasts.
    status["state"] = parsed(R"({"running": {"startedAt": )" + stamp("11:30:00") + "}}");
    CHECK(stages_of(timeline_of(seen, now)) == "start 0-1 earlier attempts 1-30 running 30-60... ");
}

TEST_CASE("the attempts of Pods that are gone are told by their events", "[timeline]") {
    TimelineObjects seen = without_objects("Failed", "11:30:00");
    seen.events = {pod_event("Scheduled", "night-node-0-0-abcde", "11:00:01"),
                   started("night-node-0-0-abcde", "11:01:00", "11:29:00", 6)};
    CHECK(stages_of(timeline_of(seen, now)) == "scheduling 0-0 start 0-1 fails and is retried 1-30 ");
    seen = without_objects("Complete", "11:30:00");
    seen.events = {pod_event("Scheduled", "night-node-0-0-abcde", "11:00:01"),
                   started("night-node-0-0-abcde", "11:01:00", "11:29:00", 2)};
    CHECK(stages_of(timeline_of(seen, now)).ends_with("earlier attempts 1-29 running 29-30 "));
}

TEST_CASE("a job without Pods that has not ended has yet to get them", "[timeline]") {
    TimelineObjects seen = submitted();
    seen.jobs = {parsed(R"({"status": {"startTime": )" + stamp("11:10:00") + "}}")};
    CHECK(stages_of(timeline_of(seen, now)) == "creation 0-60... ");
    seen.pods_unread = true;
    CHECK(stages_of(timeline_of(seen, now)) == "creation 0-10 unknown 10-60... ");
}

TEST_CASE("a program that goes on after the end of its job is shown", "[timeline]") {
    TimelineObjects seen = without_objects("Failed", "11:59:30");
    seen.pods = {pod("a", "11:00:00", "11:00:00", "11:00:00")};
    seen.pods[0]["metadata"]["deletionTimestamp"] = "2026-01-15T12:00:00Z";
    const Timeline timeline = timeline_of(seen, now);
    CHECK(timeline.stages.back().name == "stopping");
    CHECK(timeline.stages.back().goes_on);
    CHECK(timeline.title.find(", failed, stopping: 1 of 1 Pod within its grace (0s left), ") !=
          std::string::npos);
    CHECK(timeline.title.ends_with("took 59m 30s"));
}

TEST_CASE("any shape of objects makes a timeline", "[timeline]") {
    for (const char* text : {"null", "[]", "{}", "7", R"({"metadata": 1, "spec": [], "status": "x"})"}) {
        TimelineObjects seen;
        seen.job = seen.job_set = parsed(text);
        seen.jobs = seen.pods = seen.events = {parsed(text)};
        const Timeline timeline = timeline_of(seen, now);
        CHECK_FALSE(draw_text(timeline, {}).empty());
        CHECK(draw_svg(timeline).str().ends_with("</svg>\n"));
    }
}

TEST_CASE("a timeline is drawn as bars as wide as the terminal", "[timeline]") {
    TimelineObjects seen = submitted();
    seen.pods = {pod("night-node-0-0-x", "11:00:00", "11:30:00", "11:30:00")};
    const Terminal narrow = {.is_terminal = true, .columns = 50};
    CHECK(draw_text(timeline_of(seen, now), narrow).str() ==
          "TrainJob vision/night, running, submitted 2026-01-15T11:00:00Z, 1h ago\n"
          "                            0s                  1h\n"
          "scheduling        30m       ###########...........\n"
          "                            ^ 50% of the time was lost here\n"
          "running           30m...    ...........###########\n"
          "Pods\n"
          "night-node-0-0-x  30m...    ...........###########\n");
    for (int i = 0; i < 20; ++i)
        seen.pods.push_back(pod("p" + std::to_string(i), "11:00:00", "11:00:00", "11:00:00"));
    CHECK(draw_text(timeline_of(seen, now), narrow).str().find("\nand 5 more\n") != std::string::npos);
}

TEST_CASE("a timeline marks when which Pod failed first", "[timeline]") {
    TimelineObjects seen = submitted();
    seen.job["status"]["conditions"].push_back(condition("Failed", "True", "11:30:00"));
    seen.job["status"]["failures"] = failures();
    seen.pods = {pod("night-node-0-3-x", "11:00:00", "11:15:00", "11:15:00")};
    seen.pods[0]["status"]["phase"] = "Failed";
    seen.pods[0]["status"]["containerStatuses"] = parsed(
        R"([{"name": "node", "state": {"terminated": {"exitCode": 137, "startedAt": "2026-01-15T11:15:00Z",
             "finishedAt": "2026-01-15T11:29:50Z"}}}])");
    CHECK(
        draw_text(timeline_of(seen, now), {.is_terminal = true, .columns = 50}).str() ==
        "TrainJob vision/night, failed, submitted 2026-01-15T11:00:00Z, took 30m\n"
        "                            0s                 30m\n"
        "scheduling        15m       ###########...........\n"
        "                            ^ 50% of the time was lost here\n"
        "running           15m       ...........###########\n"
        "failed at         29m50s    .....................#\n"
        "                            ^ Pod night-node-0-3-x on node gpu-17: OOMKilled, exit code 137; 7 more "
        "Pods failed\n"
        "Pods\n"
        "night-node-0-3-x  14m50s    ...........###########\n");
    const std::string svg = draw_svg(timeline_of(seen, now)).str();
    for (const char* part :
         {">failed at</text>", ">29m50s</text>", "<title>Pod night-node-0-3-x on node gpu-17: OOMKilled"})
        CHECK(svg.find(part) != std::string::npos);
    // Two attempts, the newest first; the clock of the node of the last one is wrong.
    seen.job["status"]["failures"].push_back(failures().items()[0]);
    seen.job["status"]["failures"].items()[0]["time"] = "2026-01-15T13:00:00Z";
    const Timeline timeline = timeline_of(seen, now);
    REQUIRE(timeline.failures.size() == 2);
    CHECK(timeline.failures[0].begin == at("11:29:50"));
    CHECK(timeline.failures[1].begin == at("11:30:00"));
}

TEST_CASE("a timeline is drawn as a picture with all Pods, with any names", "[timeline]") {
    TimelineObjects seen = submitted();
    seen.pods = {pod("<script>&", "11:00:00", "11:30:00", "11:30:00")};
    for (int i = 0; i < 20; ++i)
        seen.pods.push_back(pod("p" + std::to_string(i), "11:00:00", "11:00:00", "11:00:00"));
    const std::string svg = draw_svg(timeline_of(seen, now)).str();
    CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1000\" "));
    CHECK(svg.find("&lt;script&gt;&amp;</text>") != std::string::npos);
    CHECK(svg.find("<script>") == std::string::npos);
    CHECK(svg.find(">p19</text>") != std::string::npos);
    CHECK(svg.find("<title>scheduling, 30m</title>") != std::string::npos);
}

TEST_CASE("a picture is XML, whatever the names are", "[timeline]") {
    // U+FFFE and U+FFFF are characters of JSON, and none of XML.
    const std::string svg = draw_svg({.title = "a\xef\xbf\xbe"
                                               "b\xef\xbf\xbf"
                                               "c\x01"})
                                .str();
    CHECK(svg.find(">a\xef\xbf\xbd"
                   "b\xef\xbf\xbd"
                   "c\\x01</text>") != std::string::npos);
}

}  // namespace cli
