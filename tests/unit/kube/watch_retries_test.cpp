// What a watch does after errors, and when.
#include "watch_story.hpp"

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

TEST_CASE("a watch that sends what no watch sends resumes, and lists again at last", "[kube]") {
    Story story;
    story.settle();
    story.reopen("9");
    const auto send = [&](bool too_long) {
        if (!too_long) return story.refused("garbage");
        // The line is cut before it is complete, however long the watch has lived.
        story.now += 300s;
        story.failed({.code = Errc::too_large, .message = "a line of the watch is longer than 2 MiB"});
    };
    for (const bool too_long : {false, true}) {
        DYNAMIC_SECTION((too_long ? "a line without an end" : "garbage")) {
            for (int i = 0; i < 3; ++i) {
                send(too_long);
                CHECK(story.machine.error());
                CHECK(story.next() == "pause " + std::to_string(500 << i));
                CHECK(story.next() == "watch " + watching_from("9"));
                story.machine.opened(story.sink);
            }
            send(too_long);
            CHECK(story.next().starts_with("pause "));
            CHECK(story.next() == "watch " + streaming);
            CHECK(story.machine.synced());
        }
    }
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
