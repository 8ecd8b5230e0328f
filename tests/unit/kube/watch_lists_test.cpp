// When a watch lists, and how it reads pages.
#include "watch_story.hpp"

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
