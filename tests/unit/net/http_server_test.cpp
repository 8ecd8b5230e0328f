#include "net/http_server.hpp"

#include <boost/asio/post.hpp>
#include <catch2/catch.hpp>
#include <stdexcept>

#include "loop.hpp"
#include "net/timer.hpp"
#include "peer.hpp"
#include "server_fixture.hpp"

using namespace std::chrono_literals;
using test::body_of;
using test::Peer;
using test::status_of;
using test::TestServer;

namespace {

std::string post(std::string_view target, std::string_view body, std::string_view more = "") {
    return "POST " + std::string(target) + " HTTP/1.1\r\nHost: test\r\n" + std::string(more) +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

}  // namespace

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

TEST_CASE("bodies of any size arrive whole", "[net]") {
    for (const bool tls : {false, true}) {
        for (const std::size_t size : {1u, 1000u, 16'383u, 16'385u, 65'537u, 1'000'000u}) {
            DYNAMIC_SECTION((tls ? "TLS, " : "plain, ") << size) {
                TestServer server({.tls = tls});
                std::string body(size, 'x');
                for (std::size_t i = 0; i < size; ++i) body[i] = static_cast<char>('a' + i % 23);
                server.run([&]() -> net::Task<> {
                    const auto peer = co_await server.connect();
                    for (int i = 0; i < 2; ++i) {
                        const auto response = co_await peer->ask(post("/echo", body));
                        CHECK(body_of(response) == "POST /echo " + body);
                    }
                });
            }
        }
    }
}

TEST_CASE("pipelined requests are answered in order", "[net]") {
    TestServer server;
    server.run([&]() -> net::Task<> {
        const auto peer = co_await server.connect();
        std::string all;
        for (int i = 0; i < 100; ++i) all += post("/slow", std::to_string(i));
        co_await peer->send(all);
        for (int i = 0; i < 100; ++i) {
            const auto response = co_await peer->response();
            CHECK(body_of(response) == "POST /slow " + std::to_string(i));
        }
    });
}

TEST_CASE("a request may arrive cut anywhere", "[net]") {
    const std::string chunked =
        "POST /echo HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n"
        "5;name=value\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\nTrailer: x\r\n\r\n";
    const std::string sized = post("/echo", "hello world");
    for (const auto& request : {chunked, sized}) {
        TestServer server;
        server.run([&]() -> net::Task<> {
            const auto peer = co_await server.connect();
            for (std::size_t cut = 1; cut < request.size(); ++cut) {
                co_await peer->send(request.substr(0, cut));
                co_await test::let_others_run();
                const auto response = co_await peer->ask(request.substr(cut));
                CHECK(body_of(response) == "POST /echo hello world");
            }
        });
    }
}

TEST_CASE("a client that goes away in the middle of a request does no harm", "[net]") {
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
    TestServer server;
    server.run([&]() -> net::Task<> {
        const auto peer = co_await server.connect();
        co_await peer->send(post("/echo", "x"));
        peer->half_close();
        const auto all = co_await peer->rest();
        CHECK(body_of(all) == "POST /echo x");
        CHECK(peer->ended_properly);
    });
}

TEST_CASE("what is no proper request is refused by the server itself", "[net]") {
    struct Case {
        const char* name;
        std::string request;
        int status;
    };
    const std::string host = "Host: test\r\n";
    const std::string line = "POST /echo HTTP/1.1\r\n";
    std::string many_fields;
    for (int i = 0; i < 129; ++i) many_fields += "a:\r\n";
    const Case cases[] = {
        {"neither length nor chunked", line + host + "\r\n", 411},
        {"a body over the limit", line + host + "Content-Length: 1001\r\n\r\n", 413},
        {"a chunk over the limit", line + host + "Transfer-Encoding: chunked\r\n\r\n3e9\r\n", 413},
        {"chunks over the limit together",
         line + host + "Transfer-Encoding: chunked\r\n\r\n3e8\r\n" + std::string(1000, 'x') + "\r\n1\r\nx",
         413},
        {"a chunk size beyond 64 bits",
         line + host + "Transfer-Encoding: chunked\r\n\r\n10000000000000001\r\n", 400},
        {"a header line over the limit", line + host + "X: " + std::string(700, 'x') + "\r\n\r\n", 431},
        {"a header without end", line + host + "X: " + std::string(20'000, 'x'), 431},
        {"a target without end", "GET /" + std::string(20'000, 'x'), 431},
        {"many header lines", line + host + many_fields + "\r\n", 431},
        {"garbage", "\x16\x03\x01 hello\r\n\r\n", 400},
        {"HTTP/0.9", "GET /echo\r\n\r\n", 400},
        {"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
        {"no host", "GET /echo HTTP/1.1\r\n\r\n", 400},
        {"length and chunked", line + host + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        {"chunked and length", line + host + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", 400},
        {"two lengths", line + host + "Content-Length: 3\r\nContent-Length: 4\r\n\r\n", 400},
        {"a negative length", line + host + "Content-Length: -1\r\n\r\n", 400},
        {"a signed length", line + host + "Content-Length: +1\r\n\r\n", 400},
        {"a length beyond 64 bits", line + host + "Content-Length: 18446744073709551617\r\n\r\n", 400},
        {"another coding", line + host + "Transfer-Encoding: gzip, chunked\r\n\r\n", 400},
        {"a coding we do not know", line + host + "Transfer-Encoding: xchunked\r\nContent-Length: 3\r\n\r\n",
         400},
        {"chunked in HTTP/1.0", "POST /echo HTTP/1.0\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n", 400},
        {"space before the colon", line + "Host : test\r\nContent-Length: 0\r\n\r\n", 400},
        {"a bare line feed", "POST /echo HTTP/1.1\nHost: test\nContent-Length: 0\n\n", 400},
        {"NUL in a header", line + host + std::string("X: a\0b\r\nContent-Length: 0\r\n\r\n", 27), 400},
        {"a chunk that is not hex", line + host + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400},
        {"a chunk header without end",
         line + host + "Transfer-Encoding: chunked\r\n\r\n1;" + std::string(30'000, 'x'), 400},
        {"an unknown expectation", line + host + "Expect: wonders\r\nContent-Length: 1\r\n\r\n", 417},
    };
    for (const auto& c : cases) {
        DYNAMIC_SECTION(c.name) {
            net::ServerLimits limits;
            limits.header_bytes = 600;
            limits.body_bytes = 1000;
            TestServer server({.limits = limits});
            server.run([&]() -> net::Task<> {
                const auto peer = co_await server.connect();
                co_await peer->send(c.request);
                const auto all = co_await peer->rest();
                CHECK(status_of(all) == c.status);
                CHECK(all.find("Connection: close\r\n") != std::string::npos);
                CHECK(peer->ended_properly);
            });
            CHECK(server.stats().requests == 0);
            CHECK(server.stats().refusals.of(c.status) == 1);
        }
    }
}

TEST_CASE("bodies at the limits are welcome", "[net]") {
    net::ServerLimits limits;
    limits.body_bytes = 1000;
    TestServer server({.limits = limits});
    server.run([&]() -> net::Task<> {
        const auto peer = co_await server.connect();
        const std::string body(1000, 'x');
        auto response = co_await peer->ask(post("/echo", body));
        CHECK(status_of(response) == 200);
        response = co_await peer->ask(
            "POST /echo HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: Chunked\r\n\r\n3E8\r\n" + body +
            "\r\n0\r\n\r\n");
        CHECK(body_of(response) == "POST /echo " + body);
        response = co_await peer->ask("GET /echo HTTP/1.1\r\nHost: test\r\n\r\n");
        CHECK(body_of(response) == "GET /echo ");
    });
}

TEST_CASE("all bodies together have a limit", "[net]") {
    net::ServerLimits limits;
    limits.total_bytes = 70'000;
    TestServer server({.limits = limits});
    server.run([&]() -> net::Task<> {
        const auto greedy = co_await server.connect();
        co_await greedy->send("POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 90000\r\n\r\n" +
                              std::string(70'000, 'x'));
        // Until the server has taken the first bytes, there is room for others.
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

TEST_CASE("who sends a large body slowly makes room, and holds up nobody", "[net]") {
    net::ServerLimits limits;
    limits.total_bytes = 70'000;
    limits.slow_after = 0ms;
    TestServer server({.limits = limits});
    server.run([&]() -> net::Task<> {
        const auto slow = co_await server.connect();
        co_await slow->send("POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 90000\r\n\r\n" +
                            std::string(70'000, 'x'));
        // Small bodies do not count at all.
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

TEST_CASE("a client that pipelines without a pause does not hold up others", "[net]") {
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

TEST_CASE("a client that expects 100-continue is told to go on", "[net]") {
    TestServer server;
    server.run([&]() -> net::Task<> {
        const auto peer = co_await server.connect();
        const auto interim = co_await peer->ask(
            "POST /echo HTTP/1.1\r\nHost: test\r\nExpect: 100-Continue\r\nContent-Length: 5\r\n\r\n");
        CHECK(interim == "HTTP/1.1 100 Continue\r\n\r\n");
        const auto response = co_await peer->ask("hello");
        CHECK(body_of(response) == "POST /echo hello");
    });
}

TEST_CASE("a body that is refused is not asked for", "[net]") {
    net::ServerLimits limits;
    limits.body_bytes = 4;
    TestServer server({.limits = limits});
    server.run([&]() -> net::Task<> {
        const auto peer = co_await server.connect();
        const auto response = co_await peer->ask(
            "POST /echo HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
        CHECK(status_of(response) == 413);
    });
}

TEST_CASE("exceptions become 500 and are counted, and the connection lives on", "[net]") {
    TestServer server;
    server.run([&]() -> net::Task<> {
        const auto peer = co_await server.connect();
        for (const char* target : {"/throw", "/throw-later"}) {
            const auto response = co_await peer->ask(post(target, "x"));
            CHECK(status_of(response) == 500);
            // What went wrong inside is for the log only.
            CHECK(body_of(response) == "internal error\n");
        }
        const auto response = co_await peer->ask(post("/echo", "x"));
        CHECK(status_of(response) == 200);
    });
    CHECK(server.stats().handler_errors == 2);
    REQUIRE(server.log_lines.size() == 2);
    CHECK(server.log_lines.front().find("as it was told") != std::string::npos);
}

TEST_CASE("keep-alive follows the version and the Connection header", "[net]") {
    struct Case {
        const char* request;
        bool stays;
    };
    const Case cases[] = {
        {"GET /echo HTTP/1.1\r\nHost: test\r\n\r\n", true},
        {"GET /echo HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n", false},
        {"GET /echo HTTP/1.0\r\n\r\n", false},
        {"GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true},
    };
    for (const auto& c : cases) {
        DYNAMIC_SECTION(c.request) {
            TestServer server;
            server.run([&]() -> net::Task<> {
                const auto peer = co_await server.connect();
                auto response = co_await peer->ask(c.request);
                CHECK(body_of(response) == "GET /echo ");
                response = co_await peer->ask(c.request);
                CHECK(response.empty() == !c.stays);
            });
        }
    }
}

TEST_CASE("HEAD gets the headers of GET and no body", "[net]") {
    TestServer server;
    server.run([&]() -> net::Task<> {
        const auto peer = co_await server.connect();
        co_await peer->send("HEAD /echo HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
        const auto all = co_await peer->rest();
        CHECK(all.find("Content-Length: 11\r\n") != std::string::npos);
        CHECK(all.ends_with("\r\n\r\n"));
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

TEST_CASE("a connection survives nothing that a hostile client sends behind a refusal", "[net]") {
    net::ServerLimits limits;
    limits.body_bytes = 1000;
    TestServer server({.limits = limits});
    server.run([&]() -> net::Task<> {
        const auto peer = co_await server.connect();
        // The answer must come through although the server reads no more than the headers.
        co_await peer->send(post("/echo", std::string(300'000, 'x')) + post("/echo", "smuggled"));
        const auto all = co_await peer->rest();
        CHECK(status_of(all) == 413);
        CHECK(all.find("smuggled") == std::string::npos);
    });
    CHECK(server.stats().requests == 0);
}
