#include <catch2/catch.hpp>

#include "kube/manager/event_recorder.hpp"
#include "support/fake_api_server.hpp"

using namespace std::chrono_literals;
using api::Json;

namespace {

const kube::SteadyTime t0 = kube::SteadyTime(1000h);
const kube::MicroTime wall = VirtualClock::wall_start + 1500ms;
const kube::Regarding job = {.api_version = "trainer.kubeflow.org/v1alpha1",
                             .kind = "TrainJob",
                             .key = {"ns", "job"},
                             .uid = "u1",
                             .resource_version = "7"};

Json body(const std::optional<kube::Request>& request) {
    REQUIRE(request);
    return *api::parse_json(request->body);
}

}  // namespace

TEST_CASE("an event has the same content in core/v1 and in events.k8s.io/v1", "[kube]") {
    kube::EventSeries folder("pod-1");
    const auto request = folder.fold(
        job, {.warning = true, .reason = "JobsBuildFailed", .action = "Build", .note = "why"}, t0, wall);
    REQUIRE(request);
    CHECK(request->method == "POST");
    CHECK(request->target == "/api/v1/namespaces/ns/events?fieldManager=trainer");
    Json event = body(request);
    const std::string name(std::as_const(event)["metadata"]["name"].as_string());
    CHECK(name.starts_with("job."));
    event["metadata"].erase("name");
    CHECK(event == *api::parse_json(R"({"apiVersion":"v1","kind":"Event","metadata":{"namespace":"ns"},
        "eventTime":"2026-01-15T00:00:01.500000Z","firstTimestamp":"2026-01-15T00:00:01Z",
        "lastTimestamp":"2026-01-15T00:00:01Z","count":1,
        "reportingComponent":"trainer.kubeflow.org/trainjob-controller",
        "source":{"component":"trainer.kubeflow.org/trainjob-controller"},
        "reportingInstance":"pod-1","type":"Warning","reason":"JobsBuildFailed","action":"Build","message":"why",
        "involvedObject":{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","name":"job","namespace":"ns",
                     "resourceVersion":"7","uid":"u1"}})"));
}

TEST_CASE("equal events become a series", "[kube]") {
    kube::EventSeries folder("pod-1");
    const kube::EventText text = {.reason = "Suspended", .note = "TrainJob is suspended"};
    const std::string name(body(folder.fold(job, text, t0, wall))["metadata"]["name"].as_string());

    const auto second = folder.fold(job, text, t0 + 10s, wall + 10s);
    REQUIRE(second);
    CHECK(second->method == "PATCH");
    CHECK(second->target == "/api/v1/namespaces/ns/events/" + name + "?fieldManager=trainer");
    CHECK(body(second) == *api::parse_json(R"({"count":2,"lastTimestamp":"2026-01-15T00:00:11Z",
                              "series":{"count":2,"lastObservedTime":"2026-01-15T00:00:11.500000Z"}})"));

    SECTION("whose count is sent once a minute") {
        CHECK(!folder.fold(job, text, t0 + 20s, wall));
        CHECK(!folder.fold(job, text, t0 + 69s, wall));
        CHECK(body(folder.fold(job, text, t0 + 70s, wall))["series"]["count"] == Json(5));
    }
    SECTION("until six minutes without one") {
        CHECK(folder.fold(job, text, t0 + 10s + 359s, wall)->method == "PATCH");
        CHECK(folder.fold(job, text, t0 + 10s + 359s + 360s, wall)->method == "POST");
    }
    SECTION("and a new series begins when the event has expired") {
        folder.forget(job, text);
        const auto again = folder.fold(job, text, t0 + 11s, wall + 11s);
        CHECK(again->method == "POST");
        CHECK(body(again)["metadata"]["name"] != Json(name));
    }
}

TEST_CASE("events that differ do not form a series", "[kube]") {
    kube::EventSeries folder("pod-1");
    const kube::EventText text = {.reason = "R", .note = "n"};
    REQUIRE(folder.fold(job, text, t0, wall));
    auto other_job = job;
    other_job.uid = "u2";
    CHECK(folder.fold(other_job, text, t0, wall)->method == "POST");
    CHECK(folder.fold(job, {.reason = "S", .note = "n"}, t0, wall)->method == "POST");
    CHECK(folder.fold(job, {.reason = "R", .note = "m"}, t0, wall)->method == "POST");
    CHECK(folder.fold(job, {.warning = true, .reason = "R", .note = "n"}, t0, wall)->method == "POST");
    auto newer = job;
    newer.resource_version = "8";  // the same object, later
    CHECK(folder.fold(newer, text, t0, wall)->method == "PATCH");
}

TEST_CASE("events respect the API server's limits", "[kube]") {
    kube::EventSeries folder(std::string(300, 'i'));
    SECTION("a note is cut at a character boundary") {
        for (std::size_t lead = 1018; lead <= 1026; ++lead) {
            const std::string note =
                std::string(lead, 'x') + "\xe2\x82\xac\xf0\x9f\x9a\x82";  // euro sign, locomotive
            kube::EventSeries fresh("i");  // notes that are equal once they are cut make a series
            const auto cut = std::string(
                body(fresh.fold(job, {.reason = "R", .note = note}, t0, wall))["message"].as_string());
            CHECK(cut.size() <= 1024);
            CHECK(note.starts_with(cut));
            const std::size_t want = lead + 7 <= 1024   ? lead + 7
                                     : lead + 3 <= 1024 ? lead + 3
                                                        : std::min<std::size_t>(lead, 1024);
            CHECK(cut.size() == want);
        }
    }
    SECTION("words and names") {
        auto longer = job;
        longer.key.name = std::string(232, 'a') + "." + std::string(20, 'b');
        const Json event =
            body(folder.fold(longer, {.reason = std::string(200, 'r'), .action = ""}, t0, wall));
        CHECK(event["metadata"]["name"].as_string().size() <= 253);
        CHECK(event["metadata"]["name"].as_string().find("..") == std::string_view::npos);
        CHECK(event["reason"].as_string().size() == 128);
        CHECK(event["action"].as_string().size() == 128);
        CHECK(event["reportingInstance"].as_string().size() == 128);
        CHECK(event["type"] == Json("Normal"));
    }
    SECTION("cluster-scoped objects") {
        kube::Regarding runtime = {
            .api_version = "v", .kind = "ClusterTrainingRuntime", .key = {"", "torch"}, .uid = "u"};
        const auto request = folder.fold(runtime, {.reason = "R"}, t0, wall);
        CHECK(request->target == "/api/v1/namespaces/default/events?fieldManager=trainer");
        CHECK(!body(request)["involvedObject"].contains("namespace"));
    }
    SECTION("the memory is bounded") {
        for (int i = 0; i < 10'000; ++i)
            CHECK(folder.fold(job, {.reason = "R", .note = std::to_string(i)}, t0, wall)->method == "POST");
    }
}
