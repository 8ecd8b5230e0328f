// Requests to the API server, and what becomes of its answers.
#include "https_fixture.hpp"

TEST_CASE("a request has the user agent and its own headers", "[kube]") {
    Fixture fixture;
    fixture.wire.answers.push_back(net::HttpResponse{.status = 201, .body = "{}"});
    const auto response = fixture.send(
        {.method = "PATCH", .target = "/x?y=z", .content_type = "application/apply-patch+yaml", .body = "b"});
    REQUIRE(response);
    CHECK(response->status == 201);
    CHECK(response->body == "{}");
    const auto& request = fixture.wire.requests.back();
    CHECK(request.method == "PATCH");
    CHECK(request.target == "/base/x?y=z");
    CHECK(request.body == "b");
    CHECK(fixture.header("Authorization") == "Bearer t1");
    CHECK(fixture.header("Content-Type") == "application/apply-patch+yaml");
    CHECK(fixture.header("Accept") == "application/json");
    CHECK(fixture.header("User-Agent").starts_with("signalbox/"));
    CHECK(fixture.reported == Reports{"PATCH 201"});
}

TEST_CASE("error statuses and broken connections are errors", "[kube]") {
    Fixture fixture;
    fixture.wire.answers = {
        net::HttpResponse{.status = 404,
                          .body = R"({"kind":"Status","message":"gone fishing","reason":"NotFound"})"},
        api::Error{.code = Errc::unavailable, .message = "reset"}};
    const auto refused = fixture.send();
    REQUIRE(refused.has_error());
    CHECK(refused.error().code == Errc::not_found);
    CHECK(refused.error().message == "gone fishing");
    const auto broken = fixture.send();
    REQUIRE(broken.has_error());
    CHECK(broken.error().code == Errc::unavailable);
    CHECK(fixture.reported == Reports{"GET 404", "GET 0"});
}

TEST_CASE("a missing permission is distinguished from other refusals", "[kube]") {
    Fixture fixture;
    const std::string rbac =
        R"({"kind":"Status","code":403,"message":"User \"u\" cannot list resource \"secrets\" in API group \"\""})";
    fixture.wire.answers = {net::HttpResponse{.status = 403, .body = rbac},
                            net::HttpResponse{.status = 403, .body = "quota"},
                            net::HttpResponse{.status = 403, .body = rbac}};
    const kube::Request request = {.target = "/api/v1/secrets"};
    CHECK(!fixture.await(fixture.server->send(request)));
    CHECK(!fixture.await(fixture.server->send(request)));
    CHECK(!fixture.await(fixture.server->watch(request)));
    const std::string said = "forbidden User \"u\" cannot list resource \"secrets\" in API group \"\"";
    CHECK(fixture.reported == Reports{"GET secrets 403", said, "GET secrets 403", "WATCH secrets 403", said});
}

TEST_CASE("each warning is logged once", "[kube]") {
    Fixture fixture;
    const net::HttpResponse warned = {.headers = {{"Warning", "299 - \"old\""}}};
    fixture.wire.answers = {warned, warned, net::HttpResponse{.headers = {{"Warning", "299 - \"older\""}}}};
    for (int i = 0; i < 3; ++i) fixture.send();
    CHECK(fixture.reported == Reports{"GET 200", "warning old", "GET 200", "GET 200", "warning older"});
}

TEST_CASE("each answer with a date is reported, whatever its status", "[kube]") {
    Fixture fixture;
    const auto dated = [](int status) {
        return net::HttpResponse{.status = status, .headers = {{"date", "Mon, 23 Nov 2026 10:00:00 GMT"}}};
    };
    fixture.wire.answers = {dated(200), dated(500), dated(200), net::HttpResponse{},
                            api::Error{.code = Errc::unavailable, .message = "reset"}};
    fixture.wire.on_request = [&] { fixture.clock.freeze_for(120ms); };
    fixture.send();
    fixture.send();
    REQUIRE(fixture.await(fixture.server->watch({.target = "/w"})));
    fixture.send();
    fixture.send();
    REQUIRE(fixture.dated.size() == 3);
    for (const kube::DatedAnswer& answer : fixture.dated) {
        CHECK(answer.date == api::as_time("2026-11-23T10:00:00Z"));
        CHECK(answer.sent == VirtualClock::start);
        CHECK(answer.came == VirtualClock::start + 120ms);
    }
}

TEST_CASE("a watch returns whole lines", "[kube]") {
    Fixture fixture;
    const kube::Request request = {.target = "/w", .accept = "special", .idle_timeout = 77s};
    SECTION("however they arrive") {
        fixture.wire.stream = {std::string("on"), std::string("e\ntwo\n\nth"), std::string("ree\nhalf")};
        auto watch = fixture.await(fixture.server->watch(request));
        REQUIRE(watch);
        CHECK(fixture.wire.idle_timeout == 77s);
        CHECK(fixture.header("Accept") == "special");
        for (const char* want : {"one", "two", "three", "", ""}) {
            const auto line = fixture.await((*watch)->next());
            REQUIRE(line);
            CHECK(*line == want);
        }
    }
    SECTION("until the connection breaks") {
        fixture.wire.stream = {std::string("one\nha"),
                               api::Error{.code = Errc::unavailable, .message = "reset"}};
        auto watch = fixture.await(fixture.server->watch(request));
        REQUIRE(watch);
        CHECK(*fixture.await((*watch)->next()) == "one");
        CHECK(fixture.await((*watch)->next()).error().code == Errc::unavailable);
    }
    SECTION("unless it is refused") {
        fixture.wire.answers = {net::HttpResponse{.status = 410, .body = "{}"}};
        CHECK(fixture.await(fixture.server->watch(request)).error().code == Errc::gone);
    }
}

TEST_CASE("fetch() parses, and its error names the request with the broken answer", "[kube]") {
    Fixture fixture;
    fixture.wire.answers = {net::HttpResponse{.body = R"({"a":1})"}, net::HttpResponse{.body = "{"},
                            net::HttpResponse{.status = 404}};
    const kube::Request request = {.target = "/x"};
    const auto good = fixture.await(kube::fetch(*fixture.server, request));
    REQUIRE(good);
    CHECK(*good == api::Json::object({{"a", 1}}));
    const auto broken = fixture.await(kube::fetch(*fixture.server, request));
    REQUIRE(broken.has_error());
    CHECK(broken.error().code == Errc::internal);
    CHECK_THAT(broken.error().message, Catch::Contains("GET /x"));
    CHECK(fixture.await(kube::fetch(*fixture.server, request)).error().code == Errc::not_found);
}
