#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "server_fixture.hpp"

using namespace std::chrono_literals;
using test::body_of;
using test::status_of;
using test::TestServer;

namespace {

const std::string request = "GET /echo HTTP/1.1\r\nHost: test\r\n\r\n";

net::ServerLimits with(std::chrono::milliseconds net::ServerLimits::*deadline) {
    net::ServerLimits limits;
    limits.*deadline = 5ms;
    return limits;
}

}  // namespace

TEST_CASE("a client that takes too long is disconnected", "[net]") {
    struct Case {
        const char* name;
        std::chrono::milliseconds net::ServerLimits::*deadline;
        std::string sent;
        int status;  // 0: closed without an answer
    };
    const Case cases[] = {
        {"before a request", &net::ServerLimits::idle_timeout, "", 0},
        {"between two requests", &net::ServerLimits::idle_timeout, request, 200},
        {"after one byte", &net::ServerLimits::header_timeout, "G", 408},
        {"within the headers", &net::ServerLimits::header_timeout, "GET /echo HTTP/1.1\r\nHost: ", 408},
        {"within a body", &net::ServerLimits::body_timeout,
         "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\nx", 408},
        {"within a chunk", &net::ServerLimits::body_timeout,
         "POST /echo HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nx", 408},
    };
    for (const bool tls : {false, true}) {
        for (const auto& c : cases) {
            DYNAMIC_SECTION(c.name << (tls ? ", TLS" : "")) {
                TestServer server({.tls = tls, .limits = with(c.deadline)});
                server.run([&]() -> net::Task<> {
                    const auto peer = co_await server.connect();
                    if (!c.sent.empty()) co_await peer->send(c.sent);
                    const auto all = co_await peer->rest();
                    CHECK(status_of(all) == c.status);
                    CHECK(peer->ended_properly);
                });
                CHECK(server.stats().timeouts == 1);
                server.loop.run_until([&] { return server.stats().connections == 0; });
            }
        }
    }
}

TEST_CASE("a trickle of bytes does not prolong a deadline", "[net]") {
    TestServer server({.limits = with(&net::ServerLimits::header_timeout)});
    server.run([&]() -> net::Task<> {
        const auto peer = co_await server.connect();
        int sent = 0;
        while (server.stats().connections > 0 || server.stats().accepted == 0) {
            co_await peer->send(sent++ == 0 ? "GET / HTTP/1.1\r\n" : sent % 2 ? ":" : "x");
            co_await net::sleep_for(1ms);
        }
        CHECK(sent < 200);
    });
    CHECK(server.stats().timeouts == 1);
}

TEST_CASE("a TLS client that sends nothing is disconnected", "[net]") {
    TestServer server({.tls = true, .limits = with(&net::ServerLimits::handshake_timeout)});
    server.run([&]() -> net::Task<> {
        const auto peer = co_await test::connect(server.port);
        const auto all = co_await peer->rest();
        CHECK(all.empty());
    });
    CHECK(server.stats().timeouts == 1);
}

TEST_CASE("a client that does not read its answer is disconnected", "[net]") {
    TestServer server({.limits = with(&net::ServerLimits::write_timeout)});
    server.run([&]() -> net::Task<> {
        const auto peer = co_await server.connect();
        std::string requests;
        for (int i = 0; i < 10; ++i) requests += "GET /large HTTP/1.1\r\nHost: test\r\n\r\n";
        co_await peer->send(requests);
        while (server.stats().timeouts == 0) co_await net::sleep_for(1ms);
    });
    server.loop.run_until([&] { return server.stats().connections == 0; });
}

TEST_CASE("a handler has no time limit", "[net]") {
    net::ServerLimits limits;
    limits.header_timeout = limits.idle_timeout = limits.body_timeout = limits.write_timeout = 2ms;
    TestServer server({.limits = limits});
    server.run([&]() -> net::Task<> {
        const auto peer = co_await server.connect();
        co_await peer->send("GET /hang HTTP/1.1\r\nHost: test\r\n\r\n");
        co_await net::sleep_for(20ms);
        server.release();
        const auto response = co_await peer->response();
        CHECK(status_of(response) == 200);
    });
}

TEST_CASE("at the limit of connections the longest idle one makes room", "[net]") {
    net::ServerLimits limits;
    limits.max_connections = 3;
    TestServer server({.limits = limits});
    server.run([&]() -> net::Task<> {
        std::vector<test::PeerPtr> peers;
        for (int i = 0; i < 20; ++i) {
            peers.push_back(co_await server.connect());
            const auto response = co_await peers.back()->ask(request);
            CHECK(status_of(response) == 200);
            CHECK(server.stats().connections <= 3);
        }
        for (int i = 0; i < 17; ++i) {
            const auto response = co_await peers[i]->ask(request);
            CHECK(response.empty());
        }
        for (int i = 17; i < 20; ++i) {
            const auto response = co_await peers[i]->ask(request);
            CHECK(status_of(response) == 200);
        }
    });
    CHECK(server.stats().refused == 17);
}

TEST_CASE("many connections without a request do not displace clients that send some", "[net]") {
    net::ServerLimits limits;
    limits.max_connections = 10;
    TestServer server({.limits = limits});
    server.run([&]() -> net::Task<> {
        const auto in_use = co_await server.connect();
        const auto first = co_await in_use->ask(request);
        CHECK(status_of(first) == 200);
        std::vector<test::PeerPtr> many;
        for (int i = 0; i < 100; ++i) many.push_back(co_await server.connect());
        while (server.stats().accepted < 101) co_await test::let_others_run();
        const auto second = co_await in_use->ask(request);
        CHECK(status_of(second) == 200);
    });
    CHECK(server.stats().refused == 91);
}

TEST_CASE("many unfinished first requests displace neither clients in use nor new ones", "[net]") {
    const std::string beginnings[] = {"GET / HTTP/1.1\r\nX: ",
                                      "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 9\r\n\r\nx"};
    for (const std::string& beginning : beginnings) {
        net::ServerLimits limits;
        limits.max_connections = 10;
        limits.slow_after = 1h;
        TestServer server({.limits = limits});
        server.run([&]() -> net::Task<> {
            const auto in_use = co_await server.connect();
            const auto first = co_await in_use->ask(request);
            CHECK(status_of(first) == 200);
            std::vector<test::PeerPtr> many;
            test::PeerPtr newcomer;
            for (int i = 0; i < 30; ++i) {
                many.push_back(co_await server.connect());
                co_await many.back()->send(beginning);
                for (int k = 0; k < 20; ++k) co_await test::let_others_run();
                if (i == 25) newcomer = co_await server.connect();
            }
            const auto second = co_await in_use->ask(request);
            CHECK(status_of(second) == 200);
            const auto third = co_await newcomer->ask(request);
            CHECK(status_of(third) == 200);
        });
        CHECK(server.stats().refused == 22);
    }
}

TEST_CASE("connections with only refused requests are closed before one that was served", "[net]") {
    net::ServerLimits limits;
    limits.max_connections = 10;
    TestServer server({.limits = limits});
    server.run([&]() -> net::Task<> {
        const auto in_use = co_await server.connect();
        const auto first = co_await in_use->ask(request);
        CHECK(status_of(first) == 200);
        std::vector<test::PeerPtr> flood;
        for (int i = 0; i < 30; ++i) {
            flood.push_back(co_await server.connect());
            const auto refused = co_await flood.back()->ask("GET /not-known HTTP/1.1\r\nHost: test\r\n\r\n");
            CHECK(status_of(refused) == 403);
        }
        const auto second = co_await in_use->ask(request);
        CHECK(status_of(second) == 200);
        // A later refusal does not change that.
        const auto third = co_await in_use->ask("GET /not-known HTTP/1.1\r\nHost: test\r\n\r\n");
        CHECK(status_of(third) == 403);
        flood.push_back(co_await server.connect());
        while (server.stats().accepted < 32) co_await test::let_others_run();
        const auto last = co_await in_use->ask(request);
        CHECK(status_of(last) == 200);
    });
    CHECK(server.stats().refused == 22);
}

TEST_CASE("with more clients than kept connections, all are served", "[net]") {
    net::ServerLimits limits;
    limits.max_connections = 8;
    limits.kept_connections = 4;
    TestServer server({.limits = limits});
    server.run([&]() -> net::Task<> {
        std::vector<test::PeerPtr> clients(12);
        for (int round = 0; round < 5; ++round) {
            for (test::PeerPtr& client : clients) {
                if (!client) client = co_await server.connect();
                const auto response = co_await client->ask(request);
                CHECK(status_of(response) == 200);
                if (response.find("Connection: close") != response.npos) client.reset();
                for (int i = 0; i < 5; ++i) co_await test::let_others_run();
            }
        }
        CHECK(std::ranges::count_if(clients, [](const auto& client) { return client != nullptr; }) == 4);
    });
    CHECK(server.stats().refused == 0);
}

TEST_CASE("connections that are not known do not count as kept connections", "[net]") {
    net::ServerLimits limits;
    limits.kept_connections = 1;
    TestServer server({.limits = limits});
    server.run([&]() -> net::Task<> {
        std::vector<test::PeerPtr> flood;
        for (int i = 0; i < 10; ++i) {
            flood.push_back(co_await server.connect());
            const auto refused = co_await flood.back()->ask("GET /not-known HTTP/1.1\r\nHost: test\r\n\r\n");
            CHECK(refused.find("Connection: close") == refused.npos);
        }
        const auto client = co_await server.connect();
        const auto response = co_await client->ask(request);
        CHECK(response.find("Connection: close") == response.npos);
    });
}

TEST_CASE("many connections without a ClientHello do not displace established ones", "[net]") {
    net::ServerLimits limits;
    limits.max_connections = 10;
    TestServer server({.tls = true, .limits = limits});
    server.run([&]() -> net::Task<> {
        const auto in_use = co_await server.connect();
        co_await in_use->ask(request);
        std::vector<test::PeerPtr> many;
        for (int i = 0; i < 100; ++i) many.push_back(co_await test::connect(server.port));
        while (server.stats().accepted < 101) co_await test::let_others_run();
        const auto second = co_await in_use->ask(request);
        CHECK(status_of(second) == 200);
    });
}

TEST_CASE("many connections without a ClientHello do not displace those that have completed a handshake",
          "[net]") {
    net::ServerLimits limits;
    limits.max_connections = 10;
    limits.slow_after = 1h;
    TestServer server({.tls = true, .limits = limits});
    server.run([&]() -> net::Task<> {
        const auto newcomer = co_await server.connect();
        std::vector<test::PeerPtr> many;
        for (int i = 0; i < 100; ++i) many.push_back(co_await test::connect(server.port));
        while (server.stats().accepted < 101) co_await test::let_others_run();
        const auto first = co_await newcomer->ask(request);
        CHECK(status_of(first) == 200);
    });
    CHECK(server.stats().refused == 91);
}

TEST_CASE("connections that do not read their answers are closed to make room for others", "[net]") {
    net::ServerLimits limits;
    limits.max_connections = 4;
    limits.slow_after = 0ms;
    TestServer server({.limits = limits});
    server.run([&]() -> net::Task<> {
        std::vector<test::PeerPtr> many;
        for (int i = 0; i < 4; ++i) {
            many.push_back(co_await server.connect());
            co_await many.back()->send("GET /large HTTP/1.1\r\nHost: test\r\n\r\n");
        }
        while (server.stats().in_flight > 0 || server.stats().requests < 4) co_await test::let_others_run();
        const auto honest = co_await server.connect();
        const auto response = co_await honest->ask(request);
        CHECK(status_of(response) == 200);
    });
}

TEST_CASE("a connection whose request is being answered is never closed to make room", "[net]") {
    net::ServerLimits limits;
    limits.max_connections = 1;
    TestServer server({.limits = limits});
    server.run([&]() -> net::Task<> {
        const auto busy = co_await server.connect();
        co_await busy->send("GET /hang HTTP/1.1\r\nHost: test\r\n\r\n");
        while (server.stats().in_flight == 0) co_await test::let_others_run();
        const auto late = co_await server.connect();
        const auto nothing = co_await late->rest();
        CHECK(nothing.empty());
        server.release();
        const auto response = co_await busy->response();
        CHECK(status_of(response) == 200);
    });
}

TEST_CASE("clients that never finish a handshake do not keep others out", "[net]") {
    net::ServerLimits limits;
    limits.max_connections = 10;
    TestServer server({.tls = true, .limits = limits});
    server.run([&]() -> net::Task<> {
        std::vector<test::PeerPtr> many;
        for (int round = 0; round < 5; ++round) {
            for (int i = 0; i < 20; ++i) many.push_back(co_await test::connect(server.port));
            const auto honest = co_await server.connect();
            const auto response = co_await honest->ask(request);
            CHECK(status_of(response) == 200);
        }
    });
}

TEST_CASE("a server without file descriptors accepts again when it has some", "[net]") {
    TestServer server;
    server.run([&]() -> net::Task<> {
        const auto first = co_await server.connect();
        co_await first->ask(request);
        rlimit before = {};
        ::getrlimit(RLIMIT_NOFILE, &before);
        const int lowest_free = ::dup(0);
        ::close(lowest_free);
        // Enough for the client's end and not for the server's.
        rlimit low = before;
        low.rlim_cur = static_cast<rlim_t>(lowest_free) + 1;
        ::setrlimit(RLIMIT_NOFILE, &low);
        const auto second = co_await server.connect();
        while (server.log_lines.empty()) co_await test::let_others_run();
        ::setrlimit(RLIMIT_NOFILE, &before);
        const auto response = co_await second->ask(request);
        CHECK(status_of(response) == 200);
    });
    REQUIRE(server.log_lines.size() == 1);
    CHECK(server.log_lines[0].find("raise the limit of open files") != std::string::npos);
}
