#include "net/server/source_rate.hpp"

#include <catch2/catch.hpp>

#include "net/process/timer.hpp"
#include "server_fixture.hpp"

using net::SourceRate;
using namespace std::chrono_literals;

namespace {
constexpr SourceRate::Time start = SourceRate::Time(1000h);
}  // namespace

TEST_CASE("a source has a number of permits at once, and a rate", "[net]") {
    SourceRate rate(20, 50);
    int given = 0;
    for (int i = 0; i < 100; ++i) given += rate.take(1, start) ? 1 : 0;
    CHECK(given == 50);
    CHECK(!rate.take(1, start + 49ms));
    CHECK(rate.take(1, start + 50ms));
    CHECK(!rate.take(1, start + 50ms));
    given = 0;
    for (auto now = start + 50ms; now < start + 10s; now += 1ms) given += rate.take(1, now) ? 1 : 0;
    CHECK(given == 198);
    // Sources do not share permits.
    CHECK(rate.take(2, start));
}

TEST_CASE("sources with all their permits use no memory", "[net]") {
    SourceRate rate(10, 5);
    for (std::uint64_t i = 0; i < 2 * SourceRate::most_sources; ++i) rate.take(i, start + 1us * i);
    CHECK(rate.size() == SourceRate::most_sources);
    CHECK(rate.take(1, start + 2s));
    CHECK(rate.take(SourceRate::most_sources * 4, start + 4s));
    CHECK(rate.size() == 1);
}

TEST_CASE("a server closes connections of a source that makes too many", "[net]") {
    net::ServerLimits limits;
    limits.connections_per_source = 0.01;
    limits.connections_at_once = 3;
    test::TestServer server({.limits = limits});
    server.run([&]() -> net::Task<> {
        for (int i = 0; i < 3; ++i) {
            const auto peer = co_await server.connect();
            const auto response = co_await peer->ask(test::post("/echo", "x"));
            CHECK(test::status_of(response) == 200);
        }
        const auto peer = co_await server.connect();
        const auto all = co_await peer->rest();
        CHECK(all.empty());
    });
    CHECK(server.stats().limited == 1);
    CHECK(server.stats().requests == 3);
}
