#include "net/client/http_client.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <catch2/catch.hpp>

#include "client_fixture.hpp"

using namespace std::chrono_literals;
using test::Client;
using test::Peer;
using test::ScriptedServer;

namespace {

const std::string ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

// Answers every request of every connection with `response`.
ScriptedServer::Script always(std::string response) {
    return [response = std::move(response)](Peer& peer, int) -> net::Task<> {
        return test::answer_all(peer, response);
    };
}

}  // namespace

TEST_CASE("a client sends requests over one connection", "[net]") {
    for (const bool tls : {false, true}) {
        DYNAMIC_SECTION((tls ? "TLS" : "plain")) {
            std::vector<std::string> seen;
            Client client({.tls = tls, .script = [&](Peer& peer, int) -> net::Task<> {
                               for (;;) {
                                   seen.push_back(co_await peer.request());
                                   if (seen.back().empty()) co_return;
                                   co_await peer.send(ok);
                               }
                           }});
            for (int i = 0; i < 3; ++i) {
                const auto response = client.send(
                    {.method = "POST", .target = "/a?b=c", .headers = {{"X", "y"}}, .body = "hello"});
                REQUIRE(response.has_value());
                CHECK(response->status == 200);
                CHECK(response->body == "ok");
                CHECK(net::header(response->headers, "content-LENGTH") == "2");
            }
            CHECK(client.server->connections() == 1);
            const auto host = "127.0.0.1:" + std::to_string(client.server->port());
            CHECK(seen[0] ==
                  "POST /a?b=c HTTP/1.1\r\nHost: " + host + "\r\nX: y\r\nContent-Length: 5\r\n\r\nhello");
        }
    }
}

TEST_CASE("answers of every form are read", "[net]") {
    struct Case {
        const char* name;
        std::string answer;
        std::string body;
        int status = 200;
        const char* method = "GET";
        bool reused = true;
    };
    const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    const Case cases[] = {
        {"sized", ok, "ok"},
        {"empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""},
        {"chunked", chunked + "5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n", "hello world"},
        {"with trailers", chunked + "2\r\nok\r\n0\r\nX: y\r\nZ: a\r\n\r\n", "ok"},
        {"an error", "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone", "gone", 404},
        {"no content", "HTTP/1.1 204 No Content\r\n\r\n", "", 204},
        {"for HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", "", 200, "HEAD"},
        {"after interim answers",
         "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok, "ok"},
        {"with a close", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", "ok", 200,
         "GET", false},
        {"from HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok", 200, "GET", false},
        {"with something behind it", ok + "junk", "ok", 200, "GET", false},
    };
    for (const bool tls : {false, true}) {
        for (const auto& c : cases) {
            DYNAMIC_SECTION(c.name << (tls ? ", TLS" : "")) {
                Client client({.tls = tls, .script = always(c.answer)});
                for (int i = 0; i < 2; ++i) {
                    const auto response = client.send({.method = c.method});
                    REQUIRE(response.has_value());
                    CHECK(response->status == c.status);
                    CHECK(response->body == c.body);
                }
                CHECK(client.server->connections() == (c.reused ? 1 : 2));
            }
        }
    }
}

TEST_CASE("an answer without a length ends with the connection", "[net]") {
    for (const bool tls : {false, true}) {
        DYNAMIC_SECTION((tls ? "TLS" : "plain")) {
            Client client({.tls = tls, .script = [](Peer& peer, int number) -> net::Task<> {
                               co_await peer.request();
                               co_await peer.send("HTTP/1.1 200 OK\r\n\r\nuntil the end");
                               if (number == 0) co_await peer.close();
                           }});
            const auto whole = client.send({});
            REQUIRE(whole.has_value());
            CHECK(whole->body == "until the end");
            // Over TLS, an end without close_notify may be an attack.
            CHECK(client.send({}).has_value() == !tls);
        }
    }
}

TEST_CASE("an answer may be as large as the caller's limit, and no larger", "[net]") {
    const std::string body(20'000'000, 'x');
    for (const char* framing : {"Content-Length: 20000000", "Connection: close"}) {
        Client client({.script = always("HTTP/1.1 200 OK\r\n" + std::string(framing) + "\r\n\r\n" + body)});
        const auto refused = client.send({}, body.size() - 1);
        REQUIRE(refused.has_error());
        CHECK(refused.error().code == api::Errc::too_large);
        CHECK_THAT(refused.error().message, Catch::EndsWith("the answer has more than 19999999 bytes"));
    }
    Client client({.script = always("HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n" + body)});
    const auto response = client.send({}, body.size());
    REQUIRE(response.has_value());
    CHECK(response->body == body);
}

TEST_CASE("an answer that is too large uses no more memory than the limit", "[net]") {
    // It never ends: a client that read on would not return.
    Client client({.script = [](Peer& peer, int) -> net::Task<> {
        (void)co_await peer.request();
        co_await peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        const std::string chunk = "4000\r\n" + std::string(0x4000, 'x') + "\r\n";
        for (int i = 0; i < 1000; ++i) co_await peer.send(chunk);
        co_await peer.request();
    }});
    CHECK(client.send({}, 100'000).error().code == api::Errc::too_large);
}

TEST_CASE("a large request arrives whole", "[net]") {
    const std::string body(3'000'000, 'x');
    for (const bool tls : {false, true}) {
        std::size_t size = 0;
        Client client({.tls = tls, .script = [&](Peer& peer, int) -> net::Task<> {
                           const auto request = co_await peer.request();
                           size = test::body_of(request).size();
                           co_await peer.send(ok);
                       }});
        CHECK(client.send({.method = "PUT", .body = body}).has_value());
        CHECK(size == body.size());
    }
}

TEST_CASE("an answer cut at any byte is an error, and never sent twice", "[net]") {
    const std::string answers[] = {
        ok, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"};
    for (const bool tls : {false, true}) {
        for (const auto& answer : answers) {
            DYNAMIC_SECTION((tls ? "TLS " : "plain ") << answer.size()) {
                std::size_t cut = 0;
                int requests = 0;
                Client client({.tls = tls, .script = [&](Peer& peer, int) -> net::Task<> {
                                   co_await peer.request();
                                   ++requests;
                                   co_await peer.send(answer.substr(0, cut));
                                   if (cut % 2) co_await peer.close();
                               }});
                for (cut = 0; cut < answer.size(); ++cut) {
                    const auto response = client.send({});
                    REQUIRE(response.has_error());
                    CHECK(response.error().code == api::Errc::unavailable);
                    CHECK(requests == static_cast<int>(cut) + 1);
                }
                CHECK(client.send({}).has_value());
            }
        }
    }
}

TEST_CASE("an answer may arrive in any two pieces", "[net]") {
    const std::string answers[] = {
        ok, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\nok\r\n0\r\nT: x\r\n\r\n"};
    for (const auto& answer : answers) {
        Client client({.script = [&](Peer& peer, int) -> net::Task<> {
            for (std::size_t cut = 1; cut < answer.size(); ++cut) {
                co_await peer.request();
                co_await peer.send(answer.substr(0, cut));
                co_await test::let_others_run();
                co_await peer.send(answer.substr(cut));
            }
        }});
        for (std::size_t cut = 1; cut < answer.size(); ++cut) {
            const auto response = client.send({});
            REQUIRE(response.has_value());
            CHECK(response->body == "ok");
        }
    }
}

TEST_CASE("bytes that are not HTTP are an error", "[net]") {
    for (const char* answer :
         {"hello\r\n\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.1 abc\r\n\r\n",
          "HTTP/1.1 101 Switching Protocols\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"}) {
        DYNAMIC_SECTION(answer) {
            Client client({.script = always(answer)});
            const auto response = client.send({});
            REQUIRE(response.has_error());
            CHECK(response.error().code == api::Errc::unavailable);
        }
    }
}

TEST_CASE("a part of an answer that never ends is an error, and takes no memory", "[net]") {
    const std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    const std::string megabyte(1024 * 1024, 'x');
    for (const std::string& answer :
         {"HTTP/1.1 200 " + megabyte, "HTTP/1.1 200 OK\r\nX: " + megabyte, chunked + "1;" + megabyte,
          chunked + "1\r\na\r\n0\r\nX: " + megabyte, chunked + "0\r\n" + megabyte}) {
        INFO(answer.substr(0, 80));
        Client client({.script = always(answer)});
        const auto response = client.send({});
        REQUIRE_FALSE(response.has_value());
        CHECK(response.error().message.find("the answer is not well-formed HTTP/1.1") != std::string::npos);
    }
}

TEST_CASE("a request that would break the framing is not sent", "[net]") {
    Client client({.script = always(ok)});
    CHECK(client.send({.headers = {{"Authorization", "Bearer a\r\nX: y"}}}).error().message.find("Bearer") ==
          std::string::npos);
    CHECK(client.send({.headers = {{"a b", "c"}}}).has_error());
    CHECK(client.send({.target = "/a b"}).has_error());
    CHECK(client.send({.target = "/\r\n"}).has_error());
    CHECK(client.send({.method = "GET /"}).has_error());
    CHECK(client.server->connections() == 0);
    CHECK(client.send({}).has_value());
}

TEST_CASE("a reused connection that has died is replaced once, without an error", "[net]") {
    for (const bool tls : {false, true}) {
        for (const bool reset : {false, true}) {
            DYNAMIC_SECTION((tls ? "TLS, " : "plain, ") << (reset ? "reset" : "closed")) {
                Client client({.tls = tls, .script = [&](Peer& peer, int) -> net::Task<> {
                                   co_await peer.request();
                                   co_await peer.send(ok);
                                   // The connection dies on the second request, so the client cannot see it
                                   // before it sends.
                                   co_await peer.request();
                                   if (reset)
                                       peer.reset();
                                   else
                                       co_await peer.close();
                               }});
                for (int i = 0; i < 4; ++i) CHECK(client.send({.method = "POST", .body = "x"}).has_value());
                CHECK(client.server->connections() == 4);
            }
        }
    }
}

TEST_CASE("a connection that the server closed while idle is not used", "[net]") {
    int requests = 0;
    Client client({.tls = true, .script = [&](Peer& peer, int) -> net::Task<> {
                       co_await peer.request();
                       ++requests;
                       co_await peer.send(ok);
                       co_await peer.close();
                   }});
    for (int i = 0; i < 3; ++i) {
        CHECK(client.send({}).has_value());
        client.loop.run(test::let_others_run());
    }
    CHECK(requests == 3);
}

TEST_CASE("a new connection that dies is an error", "[net]") {
    int requests = 0;
    Client client({.script = [&](Peer& peer, int) -> net::Task<> {
        co_await peer.request();
        ++requests;
        co_await peer.close();
    }});
    const auto response = client.send({});
    REQUIRE(response.has_error());
    CHECK(response.error().message.find("closed the connection without an answer") != std::string::npos);
    CHECK(requests == 1);
}

TEST_CASE("a refused connection is an error that names the address", "[net]") {
    Client client({.script = always(ok)});
    client.server->stop();
    const auto response = client.send({});
    REQUIRE(response.has_error());
    CHECK(response.error().code == api::Errc::unavailable);
    CHECK(response.error().message ==
          "127.0.0.1:" + client.config.port + ": connecting failed: Connection refused");
}

TEST_CASE("a host name is looked up", "[net]") {
    Client client({.script = always(ok), .host = "localhost"});
    CHECK(client.send({}).has_value());
    client.config.host = "no-such-host.invalid";
    client.http->reconfigure(client.config);
    const auto response = client.send({});
    REQUIRE(response.has_error());
    CHECK(response.error().message.find("cannot resolve the host name") != std::string::npos);
}

TEST_CASE("requests end at their timeout", "[net]") {
    struct Case {
        const char* name;
        const char* sent;
    };
    for (const auto& c : {Case{"before an answer", ""}, Case{"within the headers", "HTTP/1.1 200"},
                          Case{"within a body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nx"}}) {
        DYNAMIC_SECTION(c.name) {
            Client client({.script = [&](Peer& peer, int) -> net::Task<> {
                               co_await peer.request();
                               co_await peer.send(c.sent);
                               co_await peer.rest();
                           },
                           .request_timeout = 5ms});
            const auto response = client.send({});
            REQUIRE(response.has_error());
            CHECK(response.error().code == api::Errc::unavailable);
            CHECK(response.error().message.find("took too long") != std::string::npos);
        }
    }
}
