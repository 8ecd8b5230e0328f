#include "admission/authenticated_handler.hpp"

#include <boost/asio/co_spawn.hpp>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <set>

#include "reviews.hpp"
#include "support/printers.hpp"

using admission::AuthenticatedHandler;
using api::Json;
using kube::TokenAuthenticator;
using namespace std::chrono_literals;

namespace {

// An API server at which the token "good" is alice's, and no other token is valid.
struct Door {
    explicit Door(kube::AuthPolicy rules = {.audience = "webhook"}, std::size_t places = 4)
        : permits(places), tokens(token_server, reviews.clock, reviews.log, std::move(rules)) {
        reviews.runtimes.set({"", "plain"}, admission::make_runtime_text(test::cluster_runtime()));
        token_server.answer = [](const kube::Request& request) -> api::Result<kube::Response> {
            const Json asked = api::parse_json(request.body).value();
            const bool good = asked["spec"]["token"].as_string() == "good";
            Json status = Json::object({{"authenticated", good}});
            if (good) status["user"]["username"] = "alice";
            if (good) status["audiences"] = Json::array({Json("webhook")});
            return kube::Response{201, api::to_json(Json::object({{"status", status}}))};
        };
    }

    // The response, once there is one.
    using Pending = std::shared_ptr<std::optional<net::HttpResponse>>;
    struct Call {
        net::HttpRequest request = {};
        Pending response = std::make_shared<std::optional<net::HttpResponse>>();
        bool at_once = false;
    };

    std::unique_ptr<Call> start(const std::string& token, const std::string& peer = "10.0.0.1") {
        auto call = std::make_unique<Call>();
        call->request = test::post(test::train_job_path, test::review("CREATE", test::train_job()));
        call->request.peer = peer;
        if (!token.empty()) call->request.headers.emplace_back("Authorization", "Bearer " + token);
        send(*call);
        return call;
    }
    void send(Call& call) {
        boost::asio::co_spawn(reviews.context,
                              test::timed(handler.receive(call.request), reviews.context, call.at_once),
                              [response = call.response](std::exception_ptr, net::HttpResponse said) {
                                  *response = std::move(said);
                              });
        reviews.clock.run();
    }
    net::HttpResponse ask(const std::string& token, const std::string& peer = "10.0.0.1") {
        const auto call = start(token, peer);
        reviews.clock.run_for(1s);
        REQUIRE(call->response->has_value());
        return **call->response;
    }

    test::Fixture reviews;
    FakeApiServer token_server{reviews.clock};
    net::Semaphore permits;
    TokenAuthenticator tokens;
    AuthenticatedHandler handler{reviews.handler, &tokens, permits, reviews.clock, reviews.review_metrics};
};

}  // namespace

TEST_CASE("only callers with permission get a verdict", "[authentication]") {
    struct Case {
        const char* token;
        std::set<std::string> users;
        int status;
        bool close;
        const char* counted_as;
    };
    const Case cases[] = {
        {"good",
         {},
         200,
         false,
         R"(code="200",path="/validate-trainer-kubeflow-org-v1alpha1-trainjob",verdict="allowed"} 1)"},
        {"good", {"alice"}, 200, false, R"(verdict="allowed"} 1)"},
        {"good", {"bob"}, 403, true, R"(code="403",path="other",verdict="none"} 1)"},
        {"bad", {}, 401, true, R"(code="401",path="other",verdict="none"} 1)"},
        {"", {}, 401, true, R"(code="401",path="other",verdict="none"} 1)"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION("token " << c.token << ", " << c.users.size() << " users: " << c.status) {
            Door door({.audience = "webhook", .users = c.users});
            const net::HttpResponse response = door.ask(c.token);
            CHECK(response.status == c.status);
            CHECK(response.close == c.close);
            CHECK(net::header(response.headers, "WWW-Authenticate") == (c.status == 401 ? "Bearer" : ""));
            CHECK(response.body.find("alice") == std::string::npos);
            CHECK_THAT(door.reviews.metrics_text(), Catch::Contains(c.counted_as));
        }
    }
}

TEST_CASE("without an authenticator every caller gets a verdict at once", "[authentication]") {
    Door door;
    AuthenticatedHandler open(door.reviews.handler, nullptr, door.permits, door.reviews.clock,
                              door.reviews.review_metrics);
    net::HttpRequest request = test::post(test::train_job_path, test::review("CREATE", test::train_job()));
    net::HttpResponse answer;
    bool at_once = false;
    boost::asio::co_spawn(door.reviews.context,
                          test::timed(open.receive(request), door.reviews.context, at_once),
                          [&](std::exception_ptr, net::HttpResponse said) { answer = std::move(said); });
    door.reviews.clock.run();
    CHECK(at_once);
    CHECK(answer.status == 200);
    CHECK(door.token_server.requests.empty());
}

TEST_CASE("a token that is known is answered at once", "[authentication]") {
    Door door;
    CHECK(door.ask("good").status == 200);
    CHECK(door.ask("bad").status == 401);
    for (const char* token : {"good", "bad"}) CHECK(door.start(token)->at_once);
    CHECK(door.token_server.requests.size() == 2);
}

TEST_CASE("a token that the API server does not review within half of the timeout gets no verdict",
          "[authentication]") {
    Door door;
    door.token_server.delay = 1h;
    const auto call = door.start("good");
    // Of the ten seconds of the request, one is for the network.
    door.reviews.clock.run_for(4400ms);
    CHECK_FALSE(call->response->has_value());
    door.reviews.clock.run_for(200ms);
    REQUIRE(call->response->has_value());
    CHECK((*call->response)->status == 503);
    CHECK_FALSE((*call->response)->close);
    CHECK_THAT(door.reviews.metrics_text(), Catch::Contains(R"(code="503",path="other",verdict="none"} 1)"));
}

TEST_CASE("unknown tokens beyond the permits are refused, and do not delay known ones", "[authentication]") {
    Door door;
    CHECK(door.ask("good").status == 200);
    door.reviews.clock.run_for(kube::AuthPolicy().remembered_for);
    door.token_server.delay = 1s;
    std::vector<std::unique_ptr<Door::Call>> flood;
    for (int i = 0; i < 4; ++i)
        flood.push_back(door.start("bad-" + std::to_string(i), "10.0.0." + std::to_string(i)));
    const auto refused = door.start("another", "10.0.1.1");
    REQUIRE(refused->at_once);
    CHECK((*refused->response)->status == 503);
    const auto known = door.start("good", "10.0.1.2");
    CHECK_FALSE(known->at_once);
    door.reviews.clock.run_for(2s);
    REQUIRE(known->response->has_value());
    CHECK((*known->response)->status == 200);
    for (const auto& call : flood) CHECK((*call->response)->status == 401);
    const auto later = door.start("another", "10.0.1.1");
    CHECK_FALSE(later->at_once);
    door.reviews.clock.run_for(2s);
}

TEST_CASE("a body with too many values is refused unread", "[authentication]") {
    Door door;
    const auto call = std::make_unique<Door::Call>();
    call->request = test::post(test::train_job_path, test::review("CREATE", test::train_job()));
    call->request.headers.emplace_back("Authorization", "Bearer good");
    call->request.body = "[" + std::string(admission::max_review_values + 1, ',') + "]";
    door.send(*call);
    door.reviews.clock.run_for(1s);
    REQUIRE(call->response->has_value());
    CHECK((*call->response)->status == 413);
    CHECK_THAT(door.reviews.metrics_text(), Catch::Contains(R"(code="413",path="other",verdict="none"} 1)"));
}
