// How a watch begins, resumes and ends.
#include "watch_story.hpp"

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
    story.line(bookmark("15"));
    story.line(bookmark("16"));
    story.line(event("MODIFIED", "a", "17"));
    story.line(event("DELETED", "a", "18"));
    story.refused(error_event(410, "Expired"));
    REQUIRE(story.next().starts_with("pause "));
    REQUIRE(story.next() == "watch " + streaming);
    story.failed(refusal(400, Errc::invalid));
    REQUIRE(story.next() == "list " + base + "limit=500");
    story.machine.page(page(item("a", "5")), story.sink);
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
