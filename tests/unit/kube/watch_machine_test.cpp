#include "kube/watch/watch_machine.hpp"

#include <catch2/catch.hpp>

#include "recording_sink.hpp"
#include "support/fake_api_server.hpp"

using namespace std::chrono_literals;
using api::Errc;
using Machine = kube::WatchMachine;

namespace {

const kube::SteadyTime t0 = kube::SteadyTime(1000h);
const std::string base = "/apis/trainer.kubeflow.org/v1alpha1/trainjobs?";
const std::string streaming = base +
                              "watch=true&allowWatchBookmarks=true&timeoutSeconds=300&sendInitialEvents=true&"
                              "resourceVersionMatch=NotOlderThan";

kube::Scope scope() { return {.resource = kube::resources::train_jobs}; }

std::string watching_from(const std::string& version) {
    return base + "watch=true&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=" + version;
}

std::string page(const std::string& items, const std::string& next = "", const std::string& version = "9") {
    return R"({"metadata":{"resourceVersion":")" + version + R"(","continue":")" + next + R"("},"items":[)" +
           items + "]}";
}
std::string item(const std::string& name, const std::string& version) {
    return R"({"metadata":{"namespace":"ns","name":")" + name + R"(","resourceVersion":")" + version + "\"}}";
}

// A machine and the record of its steps, one line each.
struct Story {
    Machine machine{scope()};
    RecordingSink sink;
    kube::SteadyTime now = t0;

    std::string next(double jitter = 0) {
        auto step = machine.next(now, jitter);
        if (const auto* pause = std::get_if<Machine::Pause>(&step))
            return "pause " + std::to_string(pause->duration.count());
        if (const auto* fetch = std::get_if<Machine::Fetch>(&step)) return "list " + fetch->request.target;
        return "watch " + std::get<Machine::Open>(step).request.target;
    }
    void line(const std::string& text) { CHECK(machine.line(text, sink)); }
    void refused(const std::string& text) { CHECK(!machine.line(text, sink)); }
    void failed(api::Error error) { machine.failed(now, error); }
    // Brings it to a running watch at version 9 with object a.
    void settle() {
        REQUIRE(next() == "watch " + streaming);
        machine.opened(sink);
        line(event("ADDED", "a", "5"));
        line(end_of_list("9"));
        sink.take();
    }
    // The stream ends after a normal duration; the next step resumes.
    void reopen(const std::string& version) {
        now += 300s;
        machine.closed(now);
        CHECK(next() == "watch " + watching_from(version));
        machine.opened(sink);
    }
};

}  // namespace

TEST_CASE("the first list is streamed, then the same stream is watched", "[kube]") {
    Story story;
    CHECK(story.next() == "watch " + streaming);
    CHECK(!story.machine.synced());
    story.machine.opened(story.sink);
    story.line(event("ADDED", "a", "5"));
    story.line(event("ADDED", "b", "3"));
    CHECK(!story.machine.synced());
    story.line(end_of_list("9"));
    CHECK(story.machine.synced());
    story.line(event("MODIFIED", "a", "10"));
    story.line(event("DELETED", "b", "11"));
    story.line(bookmark("15"));
    CHECK(story.sink.take() ==
          Reports{"listing", "+ns/a@5", "+ns/b@3", "synced@9", "+ns/a@10", "-ns/b@11", ">15"});
    story.reopen("15");
}

TEST_CASE("objects of lists and watches are counted, bookmarks are not", "[kube]") {
    Story story;
    story.settle();
    CHECK(story.machine.objects_received() == 1);
    story.line(bookmark("15"));
    story.line(bookmark("16"));
    CHECK(story.machine.objects_received() == 1);
    story.line(event("MODIFIED", "a", "17"));
    story.line(event("DELETED", "a", "18"));
    CHECK(story.machine.objects_received() == 3);
    story.refused(error_event(410, "Expired"));
    CHECK(story.machine.objects_received() == 3);
    REQUIRE(story.next().starts_with("pause "));
    REQUIRE(story.next() == "watch " + streaming);
    story.failed(refusal(400, Errc::invalid));
    REQUIRE(story.next() == "list " + base + "limit=500");
    story.machine.page(page(item("a", "5")), story.sink);
    CHECK(story.machine.objects_received() == 4);  // although the version is the same
}

TEST_CASE("a watch resumes from the last version seen", "[kube]") {
    Story story;
    story.settle();
    SECTION("of the list") { story.reopen("9"); }
    SECTION("of an object") {
        story.line(event("MODIFIED", "a", "12"));
        story.reopen("12");
    }
    SECTION("of a deletion") {
        story.line(event("DELETED", "a", "13"));
        story.reopen("13");
    }
    SECTION("after the connection broke") {
        story.line(event("MODIFIED", "a", "12"));
        story.now += 5s;
        story.failed(refusal(0, Errc::unavailable));
        CHECK(!story.machine.error());
        CHECK(story.next() == "watch " + watching_from("12"));
    }
    SECTION("a broken line changes nothing") {
        story.refused(R"({"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVer)");
        CHECK(story.next() == "pause 500");
        CHECK(story.next() == "watch " + watching_from("9"));
    }
    CHECK(story.machine.synced());
}

TEST_CASE("watches that end at once are not reopened at once", "[kube]") {
    Story story;
    story.settle();
    story.reopen("9");
    for (const char* want : {"pause 500", "pause 1000", "pause 2000"}) {
        story.machine.closed(story.now + 10ms);
        CHECK(story.next() == want);
        CHECK(story.next() == "watch " + watching_from("9"));
        story.machine.opened(story.sink);
    }
    CHECK(!story.machine.error());
    story.line(event("MODIFIED", "a", "10"));  // an event resets the backoff
    story.machine.closed(story.now + 20ms);
    CHECK(story.next() == "pause 500");
}

TEST_CASE("a version that is too old or too new causes a list", "[kube]") {
    Story story;
    story.settle();
    SECTION("as an event") { story.refused(error_event(410, "Expired")); }
    SECTION("as an answer") {
        story.reopen("9");
        story.now += 300s;
        story.machine.closed(story.now);
        story.next();
        story.failed(refusal(410, Errc::gone));
    }
    SECTION("the server is behind the watch") {
        story.refused(error_event(504, "Timeout", "Too large resource version: 9, current: 3"));
    }
    CHECK(!story.machine.error());  // part of normal operation
    CHECK(story.next() == "pause 500");
    CHECK(story.next() == "watch " + streaming);
    story.machine.opened(story.sink);
    story.line(event("ADDED", "c", "2"));
    story.line(end_of_list("3"));
    CHECK(story.sink.take() == Reports{"listing", "+ns/c@2", "synced@3"});
    story.reopen("3");
}

TEST_CASE("lists without success become less frequent", "[kube]") {
    Story story;
    story.settle();
    for (const char* want : {"pause 500", "pause 1000", "pause 2000", "pause 4000"}) {
        story.refused(error_event(410, "Expired"));
        CHECK(story.next() == want);
        CHECK(story.next() == "watch " + streaming);
        story.machine.opened(story.sink);
        story.line(end_of_list("9"));
    }
}

TEST_CASE("a server without streamed lists gets requests for pages from then on", "[kube]") {
    Story story;
    const auto status = GENERATE(400, 422);
    REQUIRE(story.next() == "watch " + streaming);
    story.failed(refusal(status, Errc::invalid));
    CHECK(!story.machine.error());

    CHECK(story.next() == "list " + base + "limit=500");
    story.machine.page(page(item("a", "1") + "," + item("b", "2"), "t/k="), story.sink);
    CHECK(!story.machine.synced());
    CHECK(story.next() == "list " + base + "limit=500&continue=t%2Fk%3D");
    story.machine.page(page(item("c", "3")), story.sink);
    CHECK(story.machine.synced());
    CHECK(story.sink.take() == Reports{"listing", "+ns/a@1", "+ns/b@2", "+ns/c@3", "synced@9"});
    CHECK(story.next() == "watch " + watching_from("9"));
    story.machine.opened(story.sink);

    story.refused(error_event(410, "Expired"));
    CHECK(story.next() == "pause 500");
    CHECK(story.next() == "list " + base + "limit=500");  // for good
}

TEST_CASE("pages", "[kube]") {
    Story story;
    REQUIRE(story.next() == "watch " + streaming);
    story.failed(refusal(400, Errc::invalid));
    REQUIRE(story.next() == "list " + base + "limit=500");
    story.machine.page(page(item("a", "1"), "token"), story.sink);
    REQUIRE(story.next() == "list " + base + "limit=500&continue=token");
    story.sink.take();

    SECTION("expired pages start again, with larger ones") {
        story.failed(refusal(410, Errc::gone));
        CHECK(story.next() == "pause 500");
        CHECK(story.next() == "list " + base + "limit=2000");
        story.machine.page(page(item("a", "1")), story.sink);
        CHECK(story.sink.take() == Reports{"listing", "+ns/a@1", "synced@9"});
    }
    SECTION("pages that expire repeatedly grow to the limit of one answer") {
        for (const char* limit : {"2000", "8000", "8000", "8000"}) {
            story.failed(refusal(410, Errc::gone));
            CHECK(story.next().starts_with("pause "));
            CHECK(story.next() == "list " + base + "limit=" + limit);
            story.machine.page(page(item("a", "1"), "token"), story.sink);
            CHECK(story.next() == "list " + base + "limit=" + limit + "&continue=token");
        }
        story.machine.page(page(item("b", "2")), story.sink);
        CHECK(story.machine.synced());
    }
    SECTION("failed pages are requested again") {
        story.failed(refusal(0, Errc::unavailable));
        CHECK(story.machine.error());
        CHECK(story.next() == "pause 500");
        CHECK(story.next() == "list " + base + "limit=500&continue=token");
        story.machine.page(page(item("b", "2")), story.sink);
        CHECK(story.sink.take() == Reports{"+ns/b@2", "synced@9"});
        CHECK(!story.machine.error());
    }
    SECTION("invalid pages start again") {
        story.machine.page("{\"items\":[", story.sink);
        CHECK(story.machine.error());
        CHECK(story.next() == "pause 500");
        CHECK(story.next() == "list " + base + "limit=500");
    }
    SECTION("pages that are too large are requested again with a smaller limit, which stays") {
        for (const char* limit : {"125", "31", "7", "1"}) {
            story.failed({.code = Errc::too_large});
            CHECK(story.next() == "list " + base + "limit=" + limit + "&continue=token");
        }
        CHECK(!story.machine.error());
        story.machine.page(page(item("b", "2")), story.sink);
        CHECK(story.next() == "watch " + watching_from("9"));
        story.machine.opened(story.sink);
        story.refused(error_event(410, "Expired"));
        CHECK(story.next() == "pause 500");
        CHECK(story.next() == "list " + base + "limit=1");
    }
    SECTION("pages of many values are requested again, smaller, before they are parsed into trees") {
        const auto dense = [](int values) {
            std::string zeros = "0";
            for (int i = 1; i < values; ++i) zeros += ",0";
            return "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\"},\"x\":[" + zeros + "]}";
        };
        for (const char* limit : {"125", "31", "7", "1"}) {
            story.machine.page(page(dense(250'000)), story.sink);
            CHECK(story.sink.take().empty());
            CHECK(story.next() == "list " + base + "limit=" + limit + "&continue=token");
        }
        CHECK(!story.machine.error());
        story.machine.page(page(dense(250'000)), story.sink);
        CHECK(story.machine.synced());
    }
    SECTION("a page of one object that is too large is an error") {
        for (int i = 0; i < 4; ++i) story.failed({.code = Errc::too_large}), story.next();
        story.failed({.code = Errc::too_large});
        CHECK(story.machine.error());
        CHECK(story.next() == "pause 500");
    }
    SECTION("items without a name are skipped") {
        story.machine.page(page("{},null," + item("b", "2")), story.sink);
        CHECK(story.sink.take() == Reports{"+ns/b@2", "synced@9"});
    }
}

TEST_CASE("an interrupted streamed list starts again", "[kube]") {
    Story story;
    REQUIRE(story.next() == "watch " + streaming);
    story.machine.opened(story.sink);
    story.line(event("ADDED", "a", "5"));
    story.failed(refusal(0, Errc::unavailable, "connection reset"));
    CHECK(story.machine.error());
    CHECK(story.next() == "pause 500");
    CHECK(story.next() == "watch " + streaming);
    story.machine.opened(story.sink);
    story.line(event("ADDED", "a", "5"));
    story.line(end_of_list("9"));
    CHECK(story.sink.take() == Reports{"listing", "+ns/a@5", "listing", "+ns/a@5", "synced@9"});

    SECTION("and pages are used if it is never complete") {
        Story other;
        for (int i = 0; i < 3; ++i) {
            CHECK(other.next() == "watch " + streaming);
            other.machine.opened(other.sink);
            other.machine.closed(other.now += 300s);
            CHECK(other.next().starts_with("pause "));
        }
        CHECK(other.next() == "list " + base + "limit=500");
    }
}

TEST_CASE("errors are retried for ever, with increasing pauses", "[kube]") {
    struct Case {
        const char* name;
        api::Error error;
    };
    const Case cases[] = {
        {"the CRD is not installed", refusal(404, Errc::not_found)},
        {"a permission is missing", refusal(403, Errc::forbidden)},
        {"connection refused", refusal(0, Errc::unavailable)},
        {"the token is stale", refusal(401, Errc::unauthorized)},
        {"the server is broken", refusal(500, Errc::unavailable)},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            Story story;
            for (const char* want : {"pause 500", "pause 1000", "pause 2000", "pause 4000", "pause 8000",
                                     "pause 15000", "pause 15000"}) {
                CHECK(story.next() == "watch " + streaming);
                story.failed(c.error);
                REQUIRE(story.machine.error());
                CHECK(story.machine.error()->code == c.error.code);
                CHECK(story.next() == want);
            }
            CHECK(story.next() == "watch " + streaming);
            story.machine.opened(story.sink);
            CHECK(!story.machine.error());
        }
    }
}

TEST_CASE("a watch that is refused repeatedly lists again, after connection errors it resumes", "[kube]") {
    Story story;
    story.settle();
    story.reopen("9");
    story.now += 300s;
    story.machine.closed(story.now);
    for (int i = 0; i < 3; ++i) {
        CHECK(story.next() == "watch " + watching_from("9"));
        story.failed(refusal(500, Errc::unavailable));
        CHECK(story.next().starts_with("pause "));
    }
    SECTION("refused") {
        CHECK(story.next() == "watch " + watching_from("9"));
        story.failed(refusal(500, Errc::unavailable));
        CHECK(story.next().starts_with("pause "));
        CHECK(story.next() == "watch " + streaming);
    }
    SECTION("unreachable") {
        for (int i = 0; i < 20; ++i) {
            CHECK(story.next() == "watch " + watching_from("9"));
            story.failed(refusal(0, Errc::unavailable));
            CHECK(story.next().starts_with("pause "));
        }
    }
    SECTION("the CRD was removed") {
        CHECK(story.next() == "watch " + watching_from("9"));
        story.failed(refusal(404, Errc::not_found));
        CHECK(story.next().starts_with("pause "));
        CHECK(story.next() == "watch " + streaming);
    }
    CHECK(story.machine.synced());
}

TEST_CASE("a server that answers again gets a request soon", "[kube]") {
    Story story;
    story.settle();
    story.reopen("9");
    story.now += 300s;
    story.machine.closed(story.now);
    for (int i = 0; i < 7; ++i) {
        CHECK(story.next() == "watch " + watching_from("9"));
        story.failed(refusal(0, Errc::unavailable, "refused"));
        CHECK(story.next() == (i < 5 ? "pause " + std::to_string(500 << i) : "pause 15000"));
    }
    // It answers again, but is still starting; the watch's resource version is still valid.
    CHECK(story.next() == "watch " + watching_from("9"));
    story.failed(refusal(429, Errc::unavailable, "storage is (re)initializing"));
    CHECK(story.next() == "pause 500");
    CHECK(story.next() == "watch " + watching_from("9"));
}

TEST_CASE("pauses are jittered and honour Retry-After", "[kube]") {
    Story story;
    story.next();
    SECTION("jitter") {
        story.failed(refusal(503, Errc::unavailable));
        CHECK(story.next(0.5) == "pause 750");
    }
    SECTION("Retry-After") {
        auto error = refusal(429, Errc::unavailable);
        error.retry_after = 20s;
        story.failed(error);
        CHECK(story.next() == "pause 20000");
        story.next();
        story.failed(refusal(503, Errc::unavailable));
        CHECK(story.next() == "pause 1000");
    }
}

TEST_CASE("a request has the time after which the watch ends, and the time that it may be silent", "[kube]") {
    Machine machine({.resource = kube::resources::config_maps,
                     .ns = "n",
                     .label_selector = "a=b,c",
                     .metadata_only = true});
    auto step = machine.next(t0, 0.999);
    const auto& request = std::get<Machine::Open>(step).request;
    CHECK(request.method == "GET");
    CHECK(request.target ==
          "/api/v1/namespaces/n/"
          "configmaps?watch=true&allowWatchBookmarks=true&labelSelector=a%3Db%2Cc&timeoutSeconds=599"
          "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
    CHECK(request.idle_timeout == 629s);
    CHECK(request.accept == "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json");
    machine.failed(t0, refusal(400, Errc::invalid));
    step = machine.next(t0, 0);
    CHECK(std::get<Machine::Fetch>(step).request.accept ==
          "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json");
}
