#include "net/server/source.hpp"

#include <catch2/catch.hpp>

#include "server_fixture.hpp"

TEST_CASE("an IPv6 address counts as its network", "[net]") {
    CHECK(net::source_of("2001:db8:1:2::1") == net::source_of("2001:db8:1:2:ffff::9"));
    CHECK(net::source_of("2001:db8:1:2::1") != net::source_of("2001:db8:1:3::1"));
    CHECK(net::source_of("::ffff:10.0.0.1") == net::source_of("10.0.0.1"));
    CHECK(net::source_of("10.0.0.1") != net::source_of("10.0.0.2"));
    CHECK(net::source_of("nonsense") == 0);
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
