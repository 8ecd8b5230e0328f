// A client that reaches its server by a proxy.
#include <algorithm>
#include <catch2/catch.hpp>
#include <initializer_list>

#include "client_fixture.hpp"
#include "net/client/http_client.hpp"

using test::Client;
using test::Peer;

namespace {

const std::string ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

}  // namespace

TEST_CASE("a proxy gets a CONNECT, and then the connection carries the request", "[net]") {
    std::vector<std::string> seen;
    Client client({.script = [&](Peer& peer, int) -> net::Task<> {
        seen.push_back(co_await peer.request());
        co_await peer.send("HTTP/1.1 200 Connection established\r\nX: y\r\n\r\n");
        for (;;) {
            seen.push_back(co_await peer.request());
            if (seen.back().empty()) co_return;
            co_await peer.send(ok);
        }
    }});
    client.config.proxy = net::HttpProxy{client.config.host, client.config.port, "Basic YTpi"};
    client.config.host = "fd00::1";
    client.config.port = "6443";
    REQUIRE(client.http->reconfigure(client.config));
    for (int i = 0; i < 2; ++i) {
        const auto response = client.send({.target = "/a"});
        REQUIRE(response.has_value());
        CHECK(response->body == "ok");
    }
    const std::string request = "GET /a HTTP/1.1\r\nHost: [fd00::1]:6443\r\n\r\n";
    CHECK(seen == std::vector<std::string>{"CONNECT [fd00::1]:6443 HTTP/1.1\r\nHost: [fd00::1]:6443\r\n"
                                           "Proxy-Authorization: Basic YTpi\r\n\r\n",
                                           request, request});
}

TEST_CASE("a proxy that does not connect is an error that names both", "[net]") {
    struct Case {
        const char* answer;
        const char* want;
    };
    const Case cases[] = {
        {"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 5\r\n\r\nlogin",
         "the proxy wants other credentials (407)"},
        {"HTTP/1.1 502 Bad Gateway\r\n\r\n", "the proxy does not connect there: it answers 502"},
        {"HTTP/1.1 200 OK\r\n\r\nmore", "the proxy answers more than it was asked"},
        {"", "closed the connection without an answer"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.want) {
            Client client({.script = [&](Peer& peer, int) -> net::Task<> {
                (void)co_await peer.request();
                co_await peer.send(c.answer);
                co_await peer.close();
            }});
            const std::string port = client.config.port;
            client.config.proxy = net::HttpProxy{client.config.host, port, "Basic s3cret"};
            client.config.host = "kube";
            REQUIRE(client.http->reconfigure(client.config));
            const auto response = client.send({});
            REQUIRE(response.has_error());
            CHECK(response.error().code == api::Errc::unavailable);
            CHECK_THAT(response.error().message,
                       Catch::StartsWith("kube:" + port + " by the proxy 127.0.0.1:" + port) &&
                           Catch::Contains(c.want) && !Catch::Contains("s3cret"));
        }
    }
}

TEST_CASE("a SOCKS5 proxy is asked for the server, and then the connection carries the request", "[net]") {
    struct Case {
        const char* name;
        net::SocksProxy login;
        std::string host;
        std::vector<std::string> asked;  // with the proxy's answers between them
        std::vector<std::string> answers;
    };
    const auto bytes = [](std::initializer_list<int> values) {
        std::string text;
        for (const int value : values) text += static_cast<char>(value);
        return text;
    };
    const std::string connect = bytes({5, 1, 0});
    const std::string port = bytes({0x19, 0x2B});  // 6443
    const std::string connected = bytes({5, 0, 0, 1, 10, 0, 0, 1, 0, 80});
    const Case cases[] = {
        {"by name",
         {},
         "kube",
         {bytes({5, 1, 0}), connect + bytes({3, 4}) + "kube" + port},
         {bytes({5, 0}), connected}},
        {"by address",
         {},
         "10.0.0.7",
         {bytes({5, 1, 0}), connect + bytes({1, 10, 0, 0, 7}) + port},
         {bytes({5, 0}), bytes({5, 0, 0, 3, 2}) + "px" + bytes({0, 80})}},
        {"by IPv6",
         {},
         "fd00::1",
         {bytes({5, 1, 0}), connect + bytes({4, 0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}) + port},
         {bytes({5, 0}), bytes({5, 0, 0, 4}) + std::string(18, '\0')}},
        {"with a login",
         {.user = "me", .password = "pass"},
         "kube",
         {bytes({5, 2, 0, 2}), bytes({1, 2}) + "me" + bytes({4}) + "pass",
          connect + bytes({3, 4}) + "kube" + port},
         {bytes({5, 2}), bytes({1, 0}), connected}},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            std::vector<std::string> seen;
            Client client({.script = [&](Peer& peer, int) -> net::Task<> {
                for (const std::string& answer : c.answers) {
                    seen.push_back(co_await peer.receive());
                    // One byte at a time: the parts of an answer may come alone.
                    for (const char byte : answer) {
                        std::string one(1, byte);
                        co_await peer.send(std::move(one));
                    }
                }
                seen.push_back(co_await peer.request());
                co_await peer.send(ok);
            }});
            net::SocksProxy proxy = c.login;
            proxy.host = client.config.host;
            proxy.port = client.config.port;
            client.config.proxy = proxy;
            client.config.host = c.host;
            client.config.port = "6443";
            REQUIRE(client.http->reconfigure(client.config));
            const auto response = client.send({.target = "/a"});
            REQUIRE(response.has_value());
            CHECK(response->body == "ok");
            REQUIRE(seen.size() == c.asked.size() + 1);
            CHECK(std::equal(c.asked.begin(), c.asked.end(), seen.begin()));
            CHECK(seen.back().starts_with("GET /a HTTP/1.1\r\n"));
        }
    }
}

TEST_CASE("a SOCKS5 proxy that does not connect is an error that names both", "[net]") {
    struct Case {
        std::vector<std::string> answers;
        const char* want;
    };
    using namespace std::string_literals;
    const Case cases[] = {
        {{"HTTP/1.1 400 Bad Request\r\n\r\n"}, "the proxy does not speak SOCKS5"},
        {{"\5\xFF"}, "the proxy wants a login: write socks5://USER:PASSWORD@HOST:PORT"},
        {{"\5\2", "\1\1"}, "the proxy does not accept the user or the password"},
        {{"\5\0"s, "\5\5\0\1\0\0\0\0\0\0"s}, "the proxy does not connect there: the connection is refused"},
        {{"\5\0"s, "\5\0\0\7\0\0\0"s}, "the proxy answers with an unknown kind of address"},
        {{"\5"}, "the proxy closed the connection without an answer"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.want) {
            Client client({.script = [&](Peer& peer, int) -> net::Task<> {
                for (const std::string& answer : c.answers) {
                    (void)co_await peer.receive();
                    co_await peer.send(answer);
                }
                co_await peer.close();
            }});
            const std::string port = client.config.port;
            client.config.proxy = net::SocksProxy{client.config.host, port, "me", "s3cret"};
            client.config.host = "kube";
            REQUIRE(client.http->reconfigure(client.config));
            const auto response = client.send({});
            REQUIRE(response.has_error());
            CHECK(response.error().code == api::Errc::unavailable);
            CHECK_THAT(response.error().message,
                       Catch::StartsWith("kube:" + port + " by the proxy 127.0.0.1:" + port) &&
                           Catch::Contains(c.want) && !Catch::Contains("s3cret"));
        }
    }
}

TEST_CASE("an address that would break the framing is not sent to a proxy", "[net]") {
    Client client({.script = [](Peer& peer, int) { return test::answer_all(peer, ok); }});
    client.config.proxy = net::HttpProxy{"127.0.0.1", client.config.port, "Basic a\r\nX: y"};
    CHECK(client.http->reconfigure(client.config).error().code == api::Errc::invalid);
}
