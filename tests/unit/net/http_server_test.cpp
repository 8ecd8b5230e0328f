#include "net/server/http_server.hpp"

#include <boost/asio/post.hpp>
#include <catch2/catch.hpp>
#include <stdexcept>

#include "loop.hpp"
#include "net/process/timer.hpp"
#include "peer.hpp"
#include "server_fixture.hpp"

using namespace std::chrono_literals;
using test::body_of;
using test::Peer;
using test::post;
using test::status_of;
using test::TestServer;

TEST_CASE("a server answers requests over one connection", "[net]") {
    for (const bool tls : {false, true}) {
        DYNAMIC_SECTION((tls ? "TLS" : "plain")) {
            TestServer server({.tls = tls});
            server.run([&]() -> net::Task<> {
                const auto peer = co_await server.connect();
                for (const std::string body : {"first", "", "third"}) {
                    const auto response = co_await peer->ask(post("/echo", body));
                    CHECK(status_of(response) == 200);
                    CHECK(body_of(response) == "POST /echo " + body);
                    CHECK(response.find("Connection: close") == std::string::npos);
                }
            });
            CHECK(server.stats().accepted == 1);
            CHECK(server.stats().requests == 3);
        }
    }
}

TEST_CASE("a handler gets its client's address", "[net]") {
    // On a socket of both families, too, it has the form of its own one.
    for (const char* host : {"127.0.0.1", "::ffff:127.0.0.1"}) {
        TestServer server({.host = host});
        server.run([&]() -> net::Task<> {
            const auto peer = co_await server.connect();
            for (int i = 0; i < 2; ++i) CHECK(body_of(co_await peer->ask(post("/peer", ""))) == "127.0.0.1");
        });
    }
}

TEST_CASE("a client that disconnects during a request causes no error", "[net]") {
    const std::string request = post("/echo", "hello world");
    for (const bool tls : {false, true}) {
        TestServer server({.tls = tls});
        server.run([&]() -> net::Task<> {
            for (std::size_t cut = 0; cut < request.size(); cut += tls ? 13 : 1) {
                const auto peer = co_await server.connect();
                co_await peer->send(request.substr(0, cut));
                if (cut % 2)
                    peer->reset();
                else
                    co_await peer->close();
            }
            const auto peer = co_await server.connect();
            const auto response = co_await peer->ask(request);
            CHECK(status_of(response) == 200);
        });
        CHECK(server.stats().requests == 1);
        server.loop.run_until([&] { return server.stats().connections == 0; });
    }
}

TEST_CASE("a half-closed client still gets its answer", "[net]") {
    for (const bool tls : {false, true}) {
        CAPTURE(tls);
        TestServer server({.tls = tls});
        server.run([&]() -> net::Task<> {
            const auto peer = co_await server.connect();
            co_await peer->send(post("/echo", "x"));
            peer->half_close();
            const auto all = co_await peer->rest();
            CHECK(body_of(all) == "POST /echo x");
            if (!tls) CHECK(peer->ended_properly);
        });
    }
}

TEST_CASE("all bodies together have a limit", "[net]") {
    net::ServerLimits limits;
    limits.total_bytes = 70'000;
    TestServer server({.limits = limits});
    server.run([&]() -> net::Task<> {
        const auto greedy = co_await server.connect();
        co_await greedy->send("POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 90000\r\n\r\n" +
                              std::string(70'000, 'x'));
        // Until the server has read the first bytes, other requests have room.
        int status = 0;
        for (int attempt = 0; attempt < 1000 && status != 503; ++attempt) {
            const auto late = co_await server.connect();
            status = status_of(co_await late->ask(post("/echo", std::string(50'000, 'x'))));
        }
        CHECK(status == 503);
        auto response = co_await greedy->ask(std::string(20'000, 'x'));
        CHECK(status_of(response) == 200);
        const auto again = co_await server.connect();
        response = co_await again->ask(post("/echo", std::string(50'000, 'x')));
        CHECK(status_of(response) == 200);
    });
}

TEST_CASE("a client that sends a large body slowly makes room, and does not delay others", "[net]") {
    net::ServerLimits limits;
    limits.total_bytes = 70'000;
    limits.slow_after = 0ms;
    TestServer server({.limits = limits});
    server.run([&]() -> net::Task<> {
        const auto slow = co_await server.connect();
        co_await slow->send("POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 90000\r\n\r\n" +
                            std::string(70'000, 'x'));
        // Small bodies do not count.
        for (int i = 0; i < 20; ++i) {
            const auto small = co_await server.connect();
            const auto response = co_await small->ask(post("/echo", std::string(10'000, 'x')));
            CHECK(status_of(response) == 200);
        }
        CHECK(server.stats().refused == 0);
        const auto large = co_await server.connect();
        const auto response = co_await large->ask(post("/echo", std::string(90'000, 'x')));
        CHECK(status_of(response) == 200);
        const auto nothing = co_await slow->rest();
        CHECK(nothing.empty());
    });
    CHECK(server.stats().refused == 1);
}

TEST_CASE("a client that pipelines without a pause does not delay others", "[net]") {
    constexpr int many = 2'000;
    TestServer server;
    server.run([&]() -> net::Task<> {
        const auto greedy = co_await server.connect();
        const auto modest = co_await server.connect();
        co_await modest->ask(post("/echo", "x"));
        std::string flood;
        for (int i = 0; i < many; ++i) flood += post("/echo", "");
        co_await greedy->send(flood);
        const auto response = co_await modest->ask(post("/echo", "x"));
        CHECK(status_of(response) == 200);
        CHECK(server.stats().requests < many / 4);
    });
}

TEST_CASE("after each long request of a client that pipelines, other clients have a turn", "[net]") {
    TestServer server;
    server.run([&]() -> net::Task<> {
        const auto greedy = co_await server.connect();
        const auto modest = co_await server.connect();
        co_await modest->ask(post("/echo", "x"));
        std::string flood;
        for (int i = 0; i < 50; ++i) flood += post("/long", "");
        co_await greedy->send(flood);
        const auto response = co_await modest->ask(post("/echo", "x"));
        CHECK(status_of(response) == 200);
        CHECK(server.stats().requests < 8);
    });
}

TEST_CASE("an exception of a handler is a counted 500, and the connection stays open", "[net]") {
    TestServer server;
    server.run([&]() -> net::Task<> {
        const auto peer = co_await server.connect();
        for (const char* target : {"/throw", "/throw-later"}) {
            const auto response = co_await peer->ask(post(target, "x"));
            CHECK(status_of(response) == 500);
            // Only the log has the exception's text.
            CHECK(body_of(response) == "internal error\n");
        }
        const auto response = co_await peer->ask(post("/echo", "x"));
        CHECK(status_of(response) == 200);
    });
    CHECK(server.stats().handler_errors == 2);
    REQUIRE(server.log_lines.size() == 2);
    CHECK(server.log_lines.front().find("as requested") != std::string::npos);
}

TEST_CASE("an application can set the body of the HTTP layer's errors", "[net]") {
    net::ServerLimits limits;
    limits.body_bytes = 10;
    limits.header_timeout = 20ms;
    const auto refuse = [](int status, std::string_view text) {
        return net::HttpResponse{
            .status = 299,
            .headers = {{"Content-Type", "application/json"}},
            .body = "{\"code\":" + std::to_string(status) + ",\"why\":\"" + std::string(text) + "\"}"};
    };
    TestServer server({.limits = limits, .refuse = refuse});
    server.run([&]() -> net::Task<> {
        const std::pair<std::string, int> rows[] = {
            {post("/echo", std::string(11, 'x')), 413},
            {"POST /echo HTTP/1.1\r\nHost: test\r\n\r\n", 411},
            {"nonsense\r\n\r\n", 400},
            {"POST /echo HTTP/1.1\r\n", 408},
            {post("/throw", ""), 500},
        };
        for (const auto& [request, status] : rows) {
            const auto peer = co_await server.connect();
            const auto response = co_await peer->ask(request);
            CHECK(status_of(response) == status);
            CHECK(response.find("Content-Type: application/json") != std::string::npos);
            CHECK(body_of(response).find("{\"code\":" + std::to_string(status)) == 0);
            CHECK((response.find("Connection: close") == std::string::npos) == (status == 500));
        }
    });
}

TEST_CASE("an answer larger than the socket's buffers arrives whole", "[net]") {
    for (const bool tls : {false, true}) {
        TestServer server({.tls = tls});
        server.run([&]() -> net::Task<> {
            const auto peer = co_await server.connect();
            const auto response = co_await peer->ask("GET /large HTTP/1.1\r\nHost: test\r\n\r\n");
            CHECK(body_of(response).size() == 2'000'000);
        });
    }
}

TEST_CASE("after a refusal the server closes the connection, whatever the client sends", "[net]") {
    net::ServerLimits limits;
    limits.body_bytes = 1000;
    TestServer server({.limits = limits});
    server.run([&]() -> net::Task<> {
        const auto peer = co_await server.connect();
        // The answer must arrive although the server reads no more than the headers.
        co_await peer->send(post("/echo", std::string(300'000, 'x')) + post("/echo", "smuggled"));
        const auto all = co_await peer->rest();
        CHECK(status_of(all) == 413);
        CHECK(all.find("smuggled") == std::string::npos);
    });
    CHECK(server.stats().requests == 0);
}
