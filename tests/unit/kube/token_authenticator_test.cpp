#include "kube/client/token_authenticator.hpp"

#include <boost/asio/co_spawn.hpp>
#include <catch2/catch.hpp>

#include "support/fake_api_server.hpp"
#include "support/printers.hpp"
#include "support/virtual_clock.hpp"

using api::Json;
using kube::AuthPolicy;
using kube::AuthResult;
using kube::TokenAuthenticator;
using namespace std::chrono_literals;

namespace {

// For the token "good" the API server returns the user alice and the audience "webhook".
struct Gate {
    explicit Gate(AuthPolicy wanted = {.audience = "webhook"}) : rules(std::move(wanted)) {
        server.answer = [this](const kube::Request& request) -> api::Result<kube::Response> {
            if (error) return *error;
            if (!odd_answer.empty()) return kube::Response{201, odd_answer};
            const Json asked = api::parse_json(request.body).value();
            const bool good = asked["spec"]["token"].as_string() == "good";
            Json status = Json::object({{"authenticated", good}});
            if (good) status["user"]["username"] = "alice";
            if (good) status["audiences"] = audiences;
            return kube::Response{201, api::to_json(Json::object({{"status", status}}))};
        };
    }

    AuthResult call(const std::string& token) {
        if (const auto known = check.from_cache(token)) return *known;
        const auto result = start(token);
        clock.run_for(5s);
        REQUIRE(*result);
        return **result;
    }
    std::shared_ptr<std::optional<AuthResult>> start(const std::string& token) {
        auto result = std::make_shared<std::optional<AuthResult>>();
        boost::asio::co_spawn(context, check.ask(token, clock.now() + 4s),
                              [result](std::exception_ptr, AuthResult said) { *result = said; });
        return result;
    }
    std::size_t asked() const { return server.requests.size(); }

    boost::asio::io_context context{1};
    VirtualClock clock{context};
    FakeApiServer server{clock};
    Json audiences = Json::array({Json("webhook")});
    std::optional<api::Error> error = {};
    std::string odd_answer = {};
    std::string log_text = {};
    net::Log log{net::LogLevel::debug, net::LogFormat::text,
                 [this](std::string_view line) { log_text += line; }};
    AuthPolicy rules;
    TokenAuthenticator check{server, clock, log, rules};
};

}  // namespace

TEST_CASE("a bearer token is read from the Authorization header", "[authentication]") {
    const std::pair<const char*, std::string> cases[] = {{"Bearer abc", "abc"},
                                                         {"bearer abc", "abc"},
                                                         {"BEARER   abc", "abc"},
                                                         {"Bearer ", ""},
                                                         {"Bearer", ""},
                                                         {"Basic abc", ""},
                                                         {"", ""},
                                                         {"abc", ""}};
    for (const auto& [value, want] : cases) {
        CAPTURE(value);
        const net::HttpRequest request = {.headers = {{"authorization", value}}};
        CHECK(kube::bearer_token(request) == want);
    }
    CHECK(kube::bearer_token({}).empty());
}

TEST_CASE("the API server returns the user of a token", "[authentication]") {
    Gate gate;
    CHECK(gate.call("good") == AuthResult::admitted);
    CHECK(gate.call("bad") == AuthResult::unauthorized);
    CHECK(gate.call("") == AuthResult::unauthorized);
    REQUIRE(gate.asked() == 2);
    CHECK(gate.server.requests[0].method == "POST");
    CHECK_THAT(gate.server.requests[0].target,
               Catch::StartsWith("/apis/authentication.k8s.io/v1/tokenreviews"));
    const Json asked = api::parse_json(gate.server.requests[0].body).value();
    CHECK(asked["spec"] == *api::parse_json(R"({"token": "good", "audiences": ["webhook"]})"));
    CHECK(gate.log_text.empty());
}

TEST_CASE("a token for another audience, or from a server without audiences, is refused",
          "[authentication]") {
    for (const char* audiences : {R"(["elsewhere"])", "[]", "null", R"("webhook")", "[1]"}) {
        CAPTURE(audiences);
        Gate gate;
        gate.audiences = *api::parse_json(audiences);
        CHECK(gate.call("good") == AuthResult::unauthorized);
    }
}

TEST_CASE("only named users are admitted", "[authentication]") {
    Gate named({.audience = "webhook", .users = {"alice", "bob"}});
    CHECK(named.call("good") == AuthResult::admitted);
    Gate others({.audience = "webhook", .users = {"bob"}});
    CHECK(others.call("good") == AuthResult::forbidden);
    CHECK(others.call("bad") == AuthResult::unauthorized);
}

TEST_CASE("every answer is stored for a while", "[authentication]") {
    for (const char* token : {"good", "bad"}) {
        CAPTURE(token);
        Gate gate;
        const AuthResult first = gate.call(token);
        gate.clock.run_for(4s);  // with the 5 s of a call
        CHECK(gate.call(token) == first);
        CHECK(gate.asked() == 1);
        gate.clock.run_for(1s);
        CHECK(gate.check.from_cache(token) == std::nullopt);
        CHECK(gate.call(token) == first);
        CHECK(gate.asked() == 2);
    }
}

TEST_CASE("a user without permission is refused when the stored answer has expired", "[authentication]") {
    Gate gate;
    CHECK(gate.call("good") == AuthResult::admitted);
    gate.audiences = Json();
    gate.clock.run_for(10s);
    CHECK(gate.call("good") == AuthResult::unauthorized);
    CHECK(gate.check.from_cache("good") == AuthResult::unauthorized);
}

TEST_CASE("many new tokens do not displace accepted ones", "[authentication]") {
    Gate gate;
    CHECK(gate.call("good") == AuthResult::admitted);
    for (std::size_t i = 0; i < 2 * TokenAuthenticator::most_remembered; ++i)
        gate.start("bad-" + std::to_string(i));
    gate.clock.run();
    CHECK(gate.check.from_cache("good") == AuthResult::admitted);
    CHECK(gate.check.from_cache("bad-0") == std::nullopt);
    CHECK(gate.check.from_cache("bad-511") == AuthResult::unauthorized);
}

TEST_CASE("many calls with one token make one request", "[authentication]") {
    for (const auto late : {0ms, 100ms, 60'000ms}) {
        CAPTURE(late.count());
        Gate gate;
        gate.server.delay = late;
        std::vector<std::shared_ptr<std::optional<AuthResult>>> calls;
        for (int i = 0; i < 5; ++i) calls.push_back(gate.start("good"));
        gate.clock.run_for(4s);
        for (const auto& call : calls)
            CHECK(*call == (late < 4s ? AuthResult::admitted : AuthResult::unknown));
        CHECK(gate.asked() == 1);
    }
}

TEST_CASE("no caller is admitted while the API server cannot check tokens", "[authentication]") {
    const std::pair<const char*, void (*)(Gate&)> cases[] = {
        {"unreachable", [](Gate& g) { g.error = api::Error{.code = api::Errc::unavailable}; }},
        {"a permission is missing", [](Gate& g) { g.error = refusal(403, api::Errc::forbidden); }},
        {"no answer", [](Gate& g) { g.server.delay = 1h; }},
        {"no JSON", [](Gate& g) { g.odd_answer = "<html>"; }},
        {"no status", [](Gate& g) { g.odd_answer = "{}"; }},
        {"a status of no shape", [](Gate& g) { g.odd_answer = R"({"status": [true]})"; }},
    };
    for (const auto& [name, harm] : cases) {
        DYNAMIC_SECTION(name) {
            Gate gate;
            harm(gate);
            CHECK(gate.call("good") == AuthResult::unknown);
            CHECK(gate.call("good") == AuthResult::unknown);
            // Logged once, without the token.
            CHECK_THAT(gate.log_text, Catch::Contains("cannot review tokens"));
            CHECK(gate.log_text.find("cannot review") == gate.log_text.rfind("cannot review"));
            CHECK(gate.log_text.find("good") == std::string::npos);

            gate.error.reset();
            gate.odd_answer.clear();
            gate.server.delay = 0ms;
            CHECK(gate.call("good") == AuthResult::admitted);
            CHECK_THAT(gate.log_text, Catch::Contains("reviews of tokens work again"));
        }
    }
}
