#include <catch2/catch.hpp>
#include <sstream>

#include "server_fixture.hpp"

using test::body_of;
using test::post;
using test::status_of;
using test::TestServer;

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

TEST_CASE("chunks of any size make one body", "[net]") {
    const std::string body(100'000, 'x');
    for (const bool tls : {false, true}) {
        for (const std::size_t size : {1u, 100u, 100'000u}) {
            DYNAMIC_SECTION((tls ? "TLS, " : "plain, ") << size) {
                std::string request =
                    "POST /echo HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n";
                for (std::size_t sent = 0; sent < body.size(); sent += size) {
                    std::ostringstream chunk;
                    chunk << std::hex << size << "\r\n" << body.substr(sent, size) << "\r\n";
                    request += chunk.str();
                }
                TestServer server({.tls = tls});
                server.run([&]() -> net::Task<> {
                    const auto peer = co_await server.connect();
                    const auto response = co_await peer->ask(request + "0\r\n\r\n");
                    CHECK(body_of(response) == "POST /echo " + body);
                });
            }
        }
    }
}

TEST_CASE("pipelined requests are answered in order", "[net]") {
    const bool tls = GENERATE(false, true);
    TestServer server({.tls = tls});
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

TEST_CASE("a request may arrive in any two pieces", "[net]") {
    const std::string chunked =
        "POST /echo HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n"
        "5;name=value\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\nTrailer: x\r\n\r\n";
    const std::string sized = post("/echo", "hello world");
    const bool tls = GENERATE(false, true);
    for (const auto& request : {chunked, sized}) {
        TestServer server({.tls = tls});
        server.run([&]() -> net::Task<> {
            const auto peer = co_await server.connect();
            for (std::size_t cut = 1; cut < request.size(); ++cut) {
                co_await peer->send(request.substr(0, cut));
                co_await test::let_others_run();
                const auto response = co_await peer->ask(request.substr(cut));
                CHECK(body_of(response) == "POST /echo hello world");
            }
            for (const char byte : request) {
                co_await peer->send(std::string(1, byte));
                co_await test::let_others_run();
            }
            const auto response = co_await peer->response();
            CHECK(body_of(response) == "POST /echo hello world");
        });
    }
}

TEST_CASE("the server itself refuses invalid requests", "[net]") {
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
        {"a header of a megabyte", line + host + "X: " + std::string(1'000'000, 'x') + "\r\n\r\n", 431},
        {"a header without end", line + host + "X: " + std::string(20'000, 'x'), 431},
        {"a target without end", "GET /" + std::string(20'000, 'x'), 431},
        {"a method without end", std::string(20'000, 'X'), 431},
        {"many header lines", line + host + many_fields + "\r\n", 431},
        {"garbage", "\x16\x03\x01 hello\r\n\r\n", 400},
        {"HTTP/0.9", "GET /echo\r\n\r\n", 400},
        {"HTTP/3.0", "POST /echo HTTP/3.0\r\n" + host + "\r\n", 400},
        {"only NULs", std::string(20'000, '\0'), 400},
        {"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
        {"no host", "GET /echo HTTP/1.1\r\n\r\n", 400},
        {"length and chunked", line + host + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        {"chunked and length", line + host + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", 400},
        {"two lengths", line + host + "Content-Length: 3\r\nContent-Length: 4\r\n\r\n", 400},
        {"a negative length", line + host + "Content-Length: -1\r\n\r\n", 400},
        {"a signed length", line + host + "Content-Length: +1\r\n\r\n", 400},
        {"a length in words", line + host + "Content-Length: ten\r\n\r\n", 400},
        {"a length of 2^63", line + host + "Content-Length: 9223372036854775808\r\n\r\n", 413},
        {"a length beyond 64 bits", line + host + "Content-Length: 18446744073709551617\r\n\r\n", 400},
        {"another coding", line + host + "Transfer-Encoding: gzip, chunked\r\n\r\n", 400},
        {"a coding we do not know", line + host + "Transfer-Encoding: xchunked\r\nContent-Length: 3\r\n\r\n",
         400},
        {"chunked in HTTP/1.0", "POST /echo HTTP/1.0\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n", 400},
        {"a header without a name", line + host + ": x\r\n\r\n", 400},
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

TEST_CASE("what follows a body is the next request", "[net]") {
    TestServer server;
    server.run([&]() -> net::Task<> {
        const auto peer = co_await server.connect();
        const auto first = co_await peer->ask(
            "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 1\r\n\r\n{}{}{}\r\n\r\n");
        CHECK(body_of(first) == "POST /echo {");
        const auto second = co_await peer->rest();
        CHECK(status_of(second) == 400);
    });
}

TEST_CASE("a header continued on the next line is read or refused", "[net]") {
    TestServer server;
    server.run([&]() -> net::Task<> {
        const auto peer = co_await server.connect();
        const auto response = co_await peer->ask(
            "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\nX: a\r\n b\r\n\r\n");
        CHECK((status_of(response) == 200 || status_of(response) == 400));
    });
}

TEST_CASE("a target of any form goes to the handler", "[net]") {
    TestServer server;
    server.run([&]() -> net::Task<> {
        const auto peer = co_await server.connect();
        for (const std::string line : {"POST /validate/../../etc/passwd", "POST http://127.0.0.1:1/echo",
                                       "CONNECT kubernetes.default:443"}) {
            const auto response =
                co_await peer->ask(line + " HTTP/1.1\r\nHost: test\r\nContent-Length: 0\r\n\r\n");
            CHECK(body_of(response) == line + " ");
        }
    });
}

TEST_CASE("bodies at the limits are accepted", "[net]") {
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

TEST_CASE("a client that expects 100-continue gets it", "[net]") {
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

TEST_CASE("the server does not send 100 Continue for a body that it refuses", "[net]") {
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
