#include "admission/rationed_server.hpp"

#include <boost/asio/co_spawn.hpp>
#include <catch2/catch.hpp>

#include "support/fake_api_server.hpp"

using namespace std::chrono_literals;

namespace {

// Ten reads at once, then two a second.
struct Rationed {
    Rationed() {
        auto fake = std::make_unique<FakeApiServer>(clock);
        server = fake.get();
        server->answer = [](const kube::Request& request) -> api::Result<kube::Response> {
            if (request.target == "/absent") return refusal(404, api::Errc::not_found);
            if (request.target == "/broken") return refusal(500, api::Errc::internal);
            if (request.target == "/large") return kube::Response{.body = std::string(1'000'000, 'x')};
            return kube::Response{.body = request.target};
        };
        rationed = admission::make_rationed(std::move(fake), clock, {.per_second = 2, .at_once = 10});
    }

    void ask(const std::string& target, int times = 1) {
        for (int i = 0; i < times; ++i) {
            const auto send = [](kube::ApiServer& to, std::string path) -> kube::Async<kube::Response> {
                kube::Request request{.target = std::move(path)};
                co_return co_await to.send(std::move(request));
            };
            boost::asio::co_spawn(context, send(*rationed, target),
                                  [this](std::exception_ptr, api::Result<kube::Response> answer) {
                                      answers.push_back(std::move(answer));
                                  });
        }
        clock.run();
    }

    boost::asio::io_context context{1};
    VirtualClock clock{context};
    FakeApiServer* server = nullptr;
    std::unique_ptr<kube::ApiServer> rationed;
    std::vector<api::Result<kube::Response>> answers = {};
};

}  // namespace

TEST_CASE("reads within the rate limit are all sent", "[rate]") {
    Rationed fixture;
    fixture.ask("/job", 10);
    CHECK(fixture.server->requests.size() == 10);
    CHECK(fixture.answers.size() == 10);
    fixture.clock.run_for(5s);
    fixture.ask("/job", 10);
    CHECK(fixture.server->requests.size() == 20);
}

TEST_CASE("above the rate limit, recent answers are repeated", "[rate]") {
    Rationed fixture;
    fixture.ask("/job");
    fixture.ask("/absent");
    fixture.ask("/others", 8);
    fixture.ask("/job", 1'000);
    fixture.ask("/absent", 1'000);
    CHECK(fixture.server->requests.size() == 10);
    REQUIRE(fixture.answers.size() == 2'010);
    CHECK(fixture.answers[10]->body == "/job");
    CHECK(fixture.answers.back().error().code == api::Errc::not_found);
    // After a while the answer is too old to be repeated.
    fixture.clock.run_for(10s);
    fixture.ask("/others", 12);
    const auto before = fixture.server->requests.size();
    fixture.ask("/job");
    fixture.clock.run_for(1s);
    CHECK(fixture.server->requests.size() > before);
}

TEST_CASE("above the rate limit, the answer for a JobSet is not repeated", "[rate]") {
    Rationed fixture;
    fixture.ask("/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets/job", 11);
    CHECK(fixture.server->requests.size() == 10);
    fixture.clock.run_for(1s);
    CHECK(fixture.server->requests.size() == 11);
}

TEST_CASE("other reads wait for their turn, and fail if that is late", "[rate]") {
    Rationed fixture;
    fixture.ask("/others", 10);
    for (int i = 0; i < 100; ++i) fixture.ask("/new/" + std::to_string(i));
    CHECK(fixture.server->requests.size() == 10);
    // Twenty have their turn within ten seconds.
    REQUIRE(fixture.answers.size() == 90);
    CHECK(fixture.answers.back().error().code == api::Errc::unavailable);
    fixture.clock.run_for(20s);
    CHECK(fixture.server->requests.size() == 30);
    CHECK(fixture.answers.size() == 110);
}

TEST_CASE("neither errors nor large answers are stored", "[rate]") {
    for (const char* target : {"/broken", "/large"}) {
        Rationed fixture;
        fixture.ask(target, 10);
        fixture.ask(target);
        CHECK(fixture.server->requests.size() == 10);
        CHECK(fixture.answers.size() == 10);
        fixture.clock.run_for(1s);
        CHECK(fixture.server->requests.size() == 11);
    }
}

TEST_CASE("threads share a ration, and each has at least one read", "[rate]") {
    const admission::Ration of_four = admission::ration_of_thread({.per_second = 200, .at_once = 1'000}, 4);
    CHECK(of_four.per_second == 50);
    CHECK(of_four.at_once == 250);
    CHECK(admission::ration_of_thread({.per_second = 2, .at_once = 3}, 8).at_once == 1);
}
