#include <openssl/ssl.h>

#include <boost/asio/ip/tcp.hpp>
#include <catch2/catch.hpp>

#include "client_fixture.hpp"

using namespace std::chrono_literals;
using test::Peer;

namespace {

const std::string ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

test::ScriptedServer::Script answering(std::string* common_name = nullptr) {
    return [common_name](Peer& peer, int) -> net::Task<> {
        if (common_name) *common_name = peer.common_name;
        return test::answer_all(peer, ok);
    };
}

// Answers one request on each connection, and calls `note` with the connection.
test::ScriptedServer::Script answering_one(std::function<void(const Peer&)> note) {
    return [note = std::move(note)](Peer& peer, int) -> net::Task<> {
        (void)co_await peer.request();
        note(peer);
        co_await peer.send(ok);
        co_await peer.close();
    };
}

std::string how_begun(const Peer& peer) { return peer.resumed ? "resumed " : "whole "; }

// Returns "ok" or the error.
std::string try_once(test::Loop& loop, const net::ClientConfig& config) {
    const auto client = net::make_http_client(loop.executor(), config).value();
    const auto response = loop.run(client->send({}, 1 << 20));
    return response ? "ok" : response.error().message;
}

net::ClientConfig config_for(const test::ScriptedServer& server, const test::Authority& authority) {
    net::ClientConfig config;
    config.host = "127.0.0.1";
    config.port = std::to_string(server.port());
    config.ca_pem = authority.cert();
    return config;
}

}  // namespace

TEST_CASE("the server's certificate is verified", "[net]") {
    const test::Authority authority;
    const test::Authority other("other CA");
    struct Case {
        const char* name;
        test::Wanted certificate;
        void (*change)(net::ClientConfig&);
        const char* error;  // a part of the error; "": no error
    };
    const auto nothing = [](net::ClientConfig&) {};
    const Case cases[] = {
        {"an address", {}, nothing, ""},
        {"another address", {.addresses = {"127.0.0.2"}}, nothing, "IP address mismatch"},
        {"a name where an address is needed", {.names = {"127.0.0.1"}, .addresses = {}}, nothing, "mismatch"},
        {"a host name", {}, [](auto& c) { c.host = "localhost"; }, ""},
        {"a server name",
         {.names = {"kubernetes.default"}, .addresses = {}},
         [](auto& c) { c.server_name = "kubernetes.default"; },
         ""},
        {"another name",
         {.names = {"elsewhere"}},
         [](auto& c) { c.server_name = "kubernetes.default"; },
         "hostname mismatch"},
        {"a wildcard",
         {.names = {"*.default.svc"}},
         [](auto& c) { c.server_name = "kubernetes.default.svc"; },
         ""},
        {"the common name does not count",
         {.common_name = "kubernetes.default", .names = {}},
         [](auto& c) { c.server_name = "kubernetes.default"; },
         "hostname mismatch"},
        {"an ended certificate",
         {.valid_for = std::chrono::seconds(-60)},
         nothing,
         "certificate has expired"},
        {"a CA that is not known",
         {},
         [](auto& c) { c.ca_pem = test::Authority("x").cert(); },
         "certificate not trusted"},
        {"the system's roots do not know it",
         {},
         [](auto& c) { c.ca_pem.clear(); },
         "certificate not trusted"},
        {"no verification",
         {.names = {"elsewhere"}, .addresses = {}, .valid_for = std::chrono::seconds(-60)},
         [](auto& c) {
             c.verify = false;
             c.ca_pem.clear();
         },
         ""},
    };
    for (const auto& c : cases) {
        DYNAMIC_SECTION(c.name) {
            test::Loop loop;
            const test::ScriptedServer server(loop.executor(), answering(),
                                              test::PeerTls{.identity = authority.issue(c.certificate)});
            auto config = config_for(server, authority);
            c.change(config);
            const auto error = try_once(loop, config);
            if (*c.error)
                CHECK(error.find(c.error) != std::string::npos);
            else
                CHECK(error == "ok");
        }
    }
}

TEST_CASE("a certificate that is itself trusted needs no CA", "[net]") {
    const test::Authority authority;
    test::Loop loop;
    const auto leaf = authority.issue();
    const test::ScriptedServer server(loop.executor(), answering(), test::PeerTls{.identity = leaf});
    auto config = config_for(server, authority);
    config.ca_pem = leaf.cert;
    CHECK(try_once(loop, config) == "ok");
}

TEST_CASE("TLS 1.2 and 1.3 are accepted, older versions are not", "[net]") {
    const test::Authority authority;
    test::Loop loop;
    const test::ScriptedServer older(
        loop.executor(), answering(),
        test::PeerTls{.identity = authority.issue(), .max_version = TLS1_2_VERSION});
    CHECK(try_once(loop, config_for(older, authority)) == "ok");
    const test::ScriptedServer old(
        loop.executor(), answering(),
        test::PeerTls{.identity = authority.issue(), .max_version = TLS1_1_VERSION});
    CHECK(try_once(loop, config_for(old, authority)).find("TLS handshake failed") != std::string::npos);
}

TEST_CASE("a client certificate is sent", "[net]") {
    const test::Authority authority;
    const test::Wanted us{.common_name = "system:node:us"};
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        test::Loop loop;
        std::string seen;
        const test::ScriptedServer server(loop.executor(), answering(&seen),
                                          test::PeerTls{.ca = authority.cert(),
                                                        .identity = authority.issue(),
                                                        .ask_for_certificate = true,
                                                        .max_version = version});
        auto config = config_for(server, authority);
        CHECK(try_once(loop, config) != "ok");
        const auto identity = authority.issue(us);
        config.client_cert_pem = identity.cert;
        config.client_key_pem = identity.key;
        CHECK(try_once(loop, config) == "ok");
        CHECK(seen == "system:node:us");
    }
}

TEST_CASE("a further connection resumes the session of an earlier one, until the configuration changes",
          "[net]") {
    const test::Authority authority;
    for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        test::Loop loop;
        std::string seen;
        const auto answer_one =
            answering_one([&seen](const Peer& peer) { seen += how_begun(peer) + peer.common_name + "\n"; });
        const test::PeerTls tls = {.ca = authority.cert(),
                                   .identity = authority.issue(),
                                   .ask_for_certificate = true,
                                   .max_version = version};
        auto server = std::make_unique<test::ScriptedServer>(loop.executor(), answer_one, tls);
        auto config = config_for(*server, authority);
        const auto identity = authority.issue({.common_name = "us"});
        config.client_cert_pem = identity.cert;
        config.client_key_pem = identity.key;
        const auto client = net::make_http_client(loop.executor(), config).value();
        for (int i = 0; i < 3; ++i) CHECK(loop.run(client->send({}, 1 << 20)).has_value());
        CHECK(seen == "whole us\nresumed us\nresumed us\n");

        // Other trust or another certificate: former sessions are forgotten.
        seen.clear();
        client->reconfigure(config);
        CHECK(loop.run(client->send({}, 1 << 20)).has_value());
        CHECK(seen == "whole us\n");
        config.ca_pem = test::Authority("another").cert();
        client->reconfigure(config);
        const auto refused = loop.run(client->send({}, 1 << 20));
        REQUIRE(refused.has_error());
        CHECK(refused.error().message.find("certificate not trusted") != std::string::npos);

        // A server that does not have the session, such as another one behind the same address.
        seen.clear();
        config.ca_pem = authority.cert();
        const test::ScriptedServer another(loop.executor(), answer_one, tls);
        config.port = std::to_string(another.port());
        client->reconfigure(config);
        CHECK(loop.run(client->send({}, 1 << 20)).has_value());
        CHECK(seen == "whole us\n");
    }
}

TEST_CASE("after a failed handshake the next one is a full handshake", "[net]") {
    const test::Authority authority;
    test::Loop loop;
    std::string seen;
    const test::ScriptedServer server(
        loop.executor(), answering_one([&seen](const Peer& peer) { seen += how_begun(peer); }),
        test::PeerTls{.ca = authority.cert(), .identity = authority.issue(), .cut = 2});
    const auto client = net::make_http_client(loop.executor(), config_for(server, authority)).value();
    const auto ask = [&] { return loop.run(client->send({}, 1 << 20)).has_value(); };
    CHECK(ask());
    CHECK(ask());
    CHECK(!ask());
    CHECK(ask());
    CHECK(seen == "whole resumed whole ");
}

TEST_CASE("a session is not resumed after the end of the certificate that it began with", "[net]") {
    const test::Authority authority;
    test::Loop loop;
    std::string seen;
    using namespace std::chrono_literals;
    const test::ScriptedServer server(
        loop.executor(), answering_one([&seen](const Peer& peer) { seen += how_begun(peer); }),
        test::PeerTls{.ca = authority.cert(), .identity = authority.issue({.valid_for = 3s})});
    const auto client = net::make_http_client(loop.executor(), config_for(server, authority)).value();
    CHECK(loop.run(client->send({}, 1 << 20)).has_value());
    // Certificates end in real time.
    const auto patience = std::chrono::steady_clock::now() + 60s;
    auto answer = loop.run(client->send({}, 1 << 20));
    while (answer && std::chrono::steady_clock::now() < patience)
        answer = loop.run(client->send({}, 1 << 20));
    REQUIRE(answer.has_error());
    CHECK(answer.error().message.find("expired") != std::string::npos);
    CHECK(seen.starts_with("whole resumed "));
}

TEST_CASE("broken PEM texts are refused when the client is made", "[net]") {
    const test::Authority authority;
    const auto good = authority.issue();
    const auto other = authority.issue();
    struct Case {
        const char* name;
        void (*change)(net::ClientConfig&, const test::Certificate& good, const test::Certificate& other);
        const char* error;
    };
    const Case cases[] = {
        {"CA", [](auto& c, auto&, auto&) { c.ca_pem = "x"; }, "CA: no PEM block CERTIFICATE found"},
        {"certificate without key", [](auto& c, auto& g, auto&) { c.client_cert_pem = g.cert; },
         "client key: no PEM block PRIVATE KEY found"},
        {"key without certificate", [](auto& c, auto& g, auto&) { c.client_key_pem = g.key; },
         "client certificate: no PEM block CERTIFICATE found"},
        {"another key",
         [](auto& c, auto& g, auto& o) {
             c.client_cert_pem = g.cert;
             c.client_key_pem = o.key;
         },
         "client key: the private key does not belong to the certificate"},
        {"server name", [](auto& c, auto&, auto&) { c.server_name = std::string("a\0b", 3); },
         "server name: "},
    };
    for (const auto& c : cases) {
        DYNAMIC_SECTION(c.name) {
            test::Loop loop;
            net::ClientConfig config;
            config.host = "localhost";
            config.ca_pem = authority.cert();
            c.change(config, good, other);
            const auto client = net::make_http_client(loop.executor(), config);
            REQUIRE(client.has_error());
            CHECK(api::describe(client.error()).find(c.error) == 0);
            CHECK(client.error().code == api::Errc::invalid);
        }
    }
}

TEST_CASE("a handshake cut at any byte is an error", "[net]") {
    namespace asio = boost::asio;
    using asio::ip::tcp;
    const test::Authority authority;
    test::Loop loop;
    const test::ScriptedServer server(loop.executor(), answering(),
                                      test::PeerTls{.identity = authority.issue()});
    // A proxy that forwards only so many bytes of the server.
    std::size_t allowed = 0;
    std::size_t passed = 0;
    const auto upstream = server.port();
    const test::ScriptedServer proxy(loop.executor(), [&](Peer& client, int) -> net::Task<> {
        const auto behind = co_await test::connect(upstream);
        passed = 0;
        auto forward = [](Peer& from, Peer& to) -> net::Task<> {
            for (;;) {
                const auto bytes = co_await from.receive();
                if (bytes.empty()) co_return;
                co_await to.send(bytes);
            }
        };
        asio::co_spawn(co_await asio::this_coro::executor, forward(client, *behind), asio::detached);
        while (passed < allowed) {
            const auto bytes = co_await behind->receive();
            if (bytes.empty()) co_return;
            const auto some = bytes.substr(0, allowed - passed);
            passed += some.size();
            co_await client.send(some);
        }
        client.reset();
        behind->reset();
        co_await test::let_others_run();
    });
    auto config = config_for(proxy, authority);
    allowed = 1'000'000;
    REQUIRE(try_once(loop, config) == "ok");
    const auto whole = passed;
    CHECK(whole > 700);
    for (allowed = 0; allowed < whole; allowed += 31) CHECK(try_once(loop, config) != "ok");
}
