#include <catch2/catch.hpp>

#include "server_fixture.hpp"

using namespace std::chrono_literals;
using test::body_of;
using test::status_of;
using test::TestServer;

namespace {

const std::string small = "GET /echo HTTP/1.1\r\nHost: test\r\n\r\n";
const std::string large_answer = "GET /large HTTP/1.1\r\nHost: test\r\n\r\n";

std::string post(std::size_t size, std::size_t sent) {
    return "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n" +
           std::string(sent, 'x');
}

// A client that requests more than any socket buffers hold, and does not read it.
net::Task<test::PeerPtr> deaf(TestServer& server) {
    auto peer = co_await server.connect();
    std::string text;
    for (int i = 0; i < 10; ++i) text += large_answer;
    const auto before = server.stats().requests.load();
    co_await peer->send(text);
    while (server.stats().requests == before) co_await test::let_others_run();
    for (int i = 0; i < 200; ++i) co_await test::let_others_run();
    co_return peer;
}

}  // namespace

TEST_CASE("answers that are not read count toward the limit of bytes", "[net]") {
    net::ServerLimits limits;
    limits.total_bytes = 5'000'000;
    limits.slow_after = 1h;
    TestServer server({.limits = limits});
    server.run([&]() -> net::Task<> {
        const auto first = co_await deaf(server);
        const auto second = co_await deaf(server);
        const auto honest = co_await server.connect();
        const auto refused = co_await honest->ask(large_answer);
        CHECK(status_of(refused) == 503);
        CHECK(body_of(refused) == "too many large answers at a time, try again\n");
        const auto served = co_await honest->ask(small);
        CHECK(status_of(served) == 200);
        // Bodies count too: both have one limit.
        const auto sender = co_await server.connect();
        const auto too_many = co_await sender->ask(post(2'000'000, 2'000'000));
        CHECK(status_of(too_many) == 503);
        first->reset();
        const auto again = co_await server.connect();
        for (int status = 0; status != 200;) {
            const auto response = co_await again->ask(large_answer);
            status = status_of(response);
        }
    });
    CHECK(server.stats().refusals.of(503) >= 2);
}

TEST_CASE("the connection with the slowest reader is closed to make room for an answer", "[net]") {
    net::ServerLimits limits;
    limits.total_bytes = 5'000'000;
    limits.slow_after = 0ms;
    TestServer server({.limits = limits});
    server.run([&]() -> net::Task<> {
        const auto first = co_await deaf(server);
        const auto second = co_await deaf(server);
        const auto honest = co_await server.connect();
        const auto response = co_await honest->ask(large_answer);
        CHECK(status_of(response) == 200);
    });
    CHECK(server.stats().refused == 1);
}

TEST_CASE("the slowest sender is refused when there is no room, and others have room again", "[net]") {
    net::ServerLimits limits;
    limits.total_bytes = 1'000'000;
    limits.slow_after = 0ms;
    TestServer server({.limits = limits});
    server.run([&]() -> net::Task<> {
        const auto greedy = co_await server.connect();
        co_await greedy->send(post(3'000'000, 600'000));
        for (int i = 0; i < 100; ++i) co_await test::let_others_run();
        const auto refused = co_await greedy->ask(std::string(1'000'000, 'x'));
        CHECK(status_of(refused) == 503);
        for (int i = 0; i < 3; ++i) {
            const auto honest = co_await server.connect();
            const auto response = co_await honest->ask(post(900'000, 900'000));
            CHECK(status_of(response) == 200);
        }
    });
}
