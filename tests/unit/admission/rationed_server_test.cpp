#include "admission/rationed_server.hpp"

#include <boost/asio/co_spawn.hpp>
#include <catch2/catch.hpp>

#include "fake_api_server.hpp"

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
    Rationed desk;
    desk.ask("/job", 10);
    CHECK(desk.server->requests.size() == 10);
    CHECK(desk.answers.size() == 10);
    desk.clock.run_for(5s);
    desk.ask("/job", 10);
    CHECK(desk.server->requests.size() == 20);
}

TEST_CASE("above the rate limit, recent answers are repeated", "[rate]") {
    Rationed desk;
    desk.ask("/job");
    desk.ask("/absent");
    desk.ask("/others", 8);
    desk.ask("/job", 1'000);
    desk.ask("/absent", 1'000);
    CHECK(desk.server->requests.size() == 10);
    REQUIRE(desk.answers.size() == 2'010);
    CHECK(desk.answers[10]->body == "/job");
    CHECK(desk.answers.back().error().code == api::Errc::not_found);
    // After a while the answer is too old to be repeated.
    desk.clock.run_for(10s);
    desk.ask("/others", 12);
    const auto before = desk.server->requests.size();
    desk.ask("/job");
    desk.clock.run_for(1s);
    CHECK(desk.server->requests.size() > before);
}

TEST_CASE("above the rate limit, the answer for a JobSet is not repeated", "[rate]") {
    Rationed desk;
    desk.ask("/apis/jobset.x-k8s.io/v1alpha2/namespaces/ns/jobsets/job", 11);
    CHECK(desk.server->requests.size() == 10);
    desk.clock.run_for(1s);
    CHECK(desk.server->requests.size() == 11);
}

TEST_CASE("other reads wait for their turn, and fail if that is late", "[rate]") {
    Rationed desk;
    desk.ask("/others", 10);
    for (int i = 0; i < 100; ++i) desk.ask("/new/" + std::to_string(i));
    CHECK(desk.server->requests.size() == 10);
    // Twenty have their turn within ten seconds.
    REQUIRE(desk.answers.size() == 90);
    CHECK(desk.answers.back().error().code == api::Errc::unavailable);
    desk.clock.run_for(20s);
    CHECK(desk.server->requests.size() == 30);
    CHECK(desk.answers.size() == 110);
}

TEST_CASE("neither errors nor large answers are stored", "[rate]") {
    for (const char* target : {"/broken", "/large"}) {
        Rationed desk;
        desk.ask(target, 10);
        desk.ask(target);
        CHECK(desk.server->requests.size() == 10);
        CHECK(desk.answers.size() == 10);
        desk.clock.run_for(1s);
        CHECK(desk.server->requests.size() == 11);
    }
}
