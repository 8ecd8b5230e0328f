#include "kube/manager/metrics_guard.hpp"

#include <boost/asio/co_spawn.hpp>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>

#include "support/fake_api_server.hpp"
#include "support/printers.hpp"
#include "support/virtual_clock.hpp"

using api::Json;
using kube::MetricsGuard;
using namespace std::chrono_literals;

namespace {

// An API server at which the tokens "reader" and "other" are valid, and only the former's user may get
// /metrics.
struct Door {
    Door() {
        server.answer = [this](const kube::Request& request) -> api::Result<kube::Response> {
            if (error) return *error;
            const Json spec = api::parse_json(request.body).value()["spec"];
            if (request.target.find("tokenreviews") != std::string::npos)
                return review_of(spec["token"].as_string());
            accesses.push_back(spec);
            const bool allowed = spec["user"].as_string() == "system:serviceaccount:monitoring:reader";
            return answer_with(access_status.is_null() ? Json::object({{"allowed", allowed}})
                                                       : access_status);
        };
    }

    static api::Result<kube::Response> answer_with(const Json& status) {
        return kube::Response{201, api::to_json(Json::object({{"status", status}}))};
    }
    static api::Result<kube::Response> review_of(std::string_view token) {
        if (token != "reader" && token != "other")
            return answer_with(Json::object({{"authenticated", false}}));
        Json user =
            *api::parse_json(R"({"uid": "1", "groups": ["system:authenticated"], "extra": {"pod": ["p"]}})");
        user["username"] = "system:serviceaccount:monitoring:" + std::string(token);
        return answer_with(Json::object(
            {{"authenticated", true}, {"user", user}, {"audiences", Json::array({Json("api")})}}));
    }

    struct Call {
        net::HttpRequest request = {};
        std::optional<net::HttpResponse> response = {};
    };
    std::shared_ptr<Call> start(const std::string& token, const std::string& peer = "10.0.0.1") {
        auto call = std::make_shared<Call>();
        call->request = {.target = "/metrics", .peer = peer};
        if (!token.empty()) call->request.headers.emplace_back("Authorization", "Bearer " + token);
        boost::asio::co_spawn(
            context, guard.answer(call->request),
            [call](std::exception_ptr, net::HttpResponse said) { call->response = std::move(said); });
        return call;
    }
    net::HttpResponse scrape(const std::string& token) {
        const auto call = start(token);
        clock.run();
        REQUIRE(call->response);
        return *call->response;
    }

    boost::asio::io_context context{1};
    VirtualClock clock{context};
    FakeApiServer server{clock};
    std::optional<api::Error> error = {};
    Json access_status = {};
    std::vector<Json> accesses = {};
    int pages = 0;
    std::string log_text = {};
    net::Log log{net::LogLevel::debug, net::LogFormat::text,
                 [this](std::string_view line) { log_text += line; }};
    MetricsGuard guard{server, clock, log, [this](net::HttpRequest&) -> net::Answer {
                           ++pages;
                           return net::HttpResponse{.body = "x 1\n"};
                       }};
};

}  // namespace

TEST_CASE("a user who may get /metrics gets the page", "[authentication]") {
    Door door;
    const net::HttpResponse response = door.scrape("reader");
    CHECK(response.status == 200);
    CHECK(response.body == "x 1\n");
    REQUIRE(door.server.requests.size() == 2);
    CHECK(door.server.requests[0].method == "POST");
    CHECK_THAT(door.server.requests[0].target,
               Catch::StartsWith("/apis/authentication.k8s.io/v1/tokenreviews"));
    CHECK(api::parse_json(door.server.requests[0].body).value()["spec"] ==
          *api::parse_json(R"({"token": "reader"})"));
    CHECK(door.server.requests[1].method == "POST");
    CHECK_THAT(door.server.requests[1].target,
               Catch::StartsWith("/apis/authorization.k8s.io/v1/subjectaccessreviews"));
    CHECK(door.accesses[0] ==
          *api::parse_json(R"({"user": "system:serviceaccount:monitoring:reader", "uid": "1",
              "groups": ["system:authenticated"], "extra": {"pod": ["p"]},
              "nonResourceAttributes": {"path": "/metrics", "verb": "get"}})"));
}

TEST_CASE("a user who may not get /metrics gets 403", "[authentication]") {
    Door door;
    const net::HttpResponse response = door.scrape("other");
    CHECK(response.status == 403);
    CHECK(response.close);
    CHECK(response.body.find("other") == std::string::npos);
    CHECK(door.pages == 0);
}

TEST_CASE("a client without a token, or with an invalid one, gets 401", "[authentication]") {
    Door door;
    for (const char* token : {"", "made-up"}) {
        const net::HttpResponse response = door.scrape(token);
        CHECK(response.status == 401);
        CHECK(response.close);
        CHECK(net::header(response.headers, "WWW-Authenticate") == "Bearer");
    }
    // Nobody asks for an access without a user.
    CHECK(door.server.requests.size() == 1);
    CHECK(door.pages == 0);
}

TEST_CASE("nobody gets metrics while the API server cannot be asked", "[authentication]") {
    const std::pair<const char*, void (*)(Door&)> cases[] = {
        {"unreachable", [](Door& d) { d.error = api::Error{.code = api::Errc::unavailable}; }},
        {"a permission is missing", [](Door& d) { d.error = refusal(403, api::Errc::forbidden); }},
        {"no answer", [](Door& d) { d.server.delay = 1h; }},
        {"no verdict about the access", [](Door& d) { d.access_status = Json("?"); }},
    };
    for (const auto& [name, harm] : cases) {
        DYNAMIC_SECTION(name) {
            Door door;
            harm(door);
            const auto call = door.start("reader");
            door.clock.run_for(MetricsGuard::longest_review);
            REQUIRE(call->response);
            CHECK(call->response->status == 503);
            CHECK(door.pages == 0);
            CHECK_THAT(door.log_text, Catch::Contains("cannot review tokens"));
            CHECK(door.log_text.find("reader") == std::string::npos);

            door.error.reset();
            door.access_status = Json();
            door.server.delay = 0ms;
            CHECK(door.scrape("reader").status == 200);
        }
    }
}

TEST_CASE("answers of the API server count for a minute", "[authentication]") {
    for (const auto& [token, status, requests] :
         {std::tuple("reader", 200, 2U), std::tuple("other", 403, 2U), std::tuple("made-up", 401, 1U)}) {
        CAPTURE(token);
        Door door;
        CHECK(door.scrape(token).status == status);
        door.error = api::Error{.code = api::Errc::unavailable};
        door.clock.run_for(59s);
        CHECK(door.scrape(token).status == status);
        CHECK(door.server.requests.size() == requests);
        door.clock.run_for(1s);
        CHECK(door.scrape(token).status == 503);
    }
}

TEST_CASE("a flood of unknown tokens does not delay a known client", "[authentication]") {
    Door door;
    CHECK(door.scrape("reader").status == 200);
    door.clock.run_for(MetricsGuard::remembered_for);
    door.server.delay = 1s;
    std::vector<std::shared_ptr<Door::Call>> flood;
    for (std::size_t i = 0; i < 2 * kube::TokenAuthenticator::requests_at_once; ++i)
        flood.push_back(door.start("made-up-" + std::to_string(i), "10.0.1." + std::to_string(i)));
    const auto known = door.start("reader", "10.0.2.1");
    door.clock.run_for(2s);
    REQUIRE(known->response);
    CHECK(known->response->status == 200);
    std::size_t reviewed = 0;
    for (const auto& call : flood) {
        REQUIRE(call->response);
        CHECK((call->response->status == 401 || call->response->status == 503));
        reviewed += call->response->status == 401;
    }
    CHECK(reviewed == kube::TokenAuthenticator::requests_at_once);
}
