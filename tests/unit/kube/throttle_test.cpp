#include "kube/client/throttle.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <catch2/catch.hpp>

#include "support/fake_api_server.hpp"

using namespace std::chrono_literals;

TEST_CASE("throttled requests wait their turn", "[kube]") {
    boost::asio::io_context context;
    VirtualClock clock(context);
    FakeApiServer server(clock);
    const auto start_requests = [&](kube::ApiServer& through, int count) {
        for (int i = 0; i < count; ++i) {
            const auto send = [](kube::ApiServer& to) -> kube::Task<> {
                kube::Request request;
                co_await to.send(std::move(request));
            };
            boost::asio::co_spawn(context, send(through), boost::asio::detached);
        }
    };
    SECTION("two a second, a burst of one") {
        const auto throttled = kube::make_throttled(server, clock, 2, 1);
        start_requests(*throttled, 4);
        clock.run();
        CHECK(server.requests.size() == 1);
        clock.run_for(500ms);
        CHECK(server.requests.size() == 2);
        clock.run_for(1s);
        CHECK(server.requests.size() == 4);
    }
    SECTION("off") {
        const auto throttled = kube::make_throttled(server, clock, 0, 0);
        start_requests(*throttled, 100);
        clock.run();
        CHECK(server.requests.size() == 100);
    }
}
