#include <catch2/catch.hpp>

#include "client_fixture.hpp"

using namespace std::chrono_literals;
using test::Client;
using test::Peer;

namespace {

const std::string head =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string chunk(std::string_view text) {
    char size[16];
    std::snprintf(size, sizeof(size), "%zx\r\n", text.size());
    return size + std::string(text) + "\r\n";
}

api::Result<std::string> read(Client& client, net::ByteStream& stream) {
    return client.loop.run(stream.read());
}

// Reads everything up to the end or an error.
std::string read_all(Client& client, net::ByteStream& stream) {
    std::string all;
    for (;;) {
        const auto bytes = read(client, stream);
        if (!bytes) return all + "!" + bytes.error().message;
        if (bytes->empty()) return all;
        all += *bytes;
    }
}

}  // namespace

TEST_CASE("a stream returns bytes as they arrive", "[net]") {
    for (const bool tls : {false, true}) {
        DYNAMIC_SECTION((tls ? "TLS" : "plain")) {
            net::Wakeup* more = nullptr;
            Client client({.tls = tls, .script = [&](Peer& peer, int) -> net::Task<> {
                               co_await peer.request();
                               co_await peer.send(head + chunk("first\n"));
                               co_await more->wait();
                               co_await peer.send(chunk("second\n") + chunk("third\n"));
                               co_await more->wait();
                               co_await peer.send("0\r\n\r\n");
                               co_await test::answer_all(peer,
                                                         "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                           }});
            net::Wakeup wakeup(client.loop.executor());
            more = &wakeup;
            auto opened = client.open({}, 10s);
            REQUIRE(opened.has_value());
            CHECK(opened->response.status == 200);
            CHECK(net::header(opened->response.headers, "content-type") == "application/json");
            REQUIRE(opened->stream);
            CHECK(read(client, *opened->stream).value() == "first\n");
            wakeup.notify();
            std::string next;
            while (next.size() < 13) next += read(client, *opened->stream).value();
            CHECK(next == "second\nthird\n");
            wakeup.notify();
            CHECK(read(client, *opened->stream).value().empty());
            CHECK(read(client, *opened->stream).value().empty());
            // After a complete response the connection can be used again.
            CHECK(client.send({}).has_value());
            CHECK(client.server->connections() == 1);
        }
    }
}

TEST_CASE("a stream cut at any byte is an error after what had come", "[net]") {
    const std::string body = chunk("one\n") + chunk("two\n") + "0\r\n\r\n";
    for (std::size_t cut = 0; cut < body.size(); ++cut) {
        Client client({.script = [&](Peer& peer, int) -> net::Task<> {
            co_await peer.request();
            co_await peer.send(head + body.substr(0, cut));
        }});
        auto opened = client.open({}, 10s);
        REQUIRE(opened.has_value());
        const auto all = read_all(client, *opened->stream);
        CHECK(all.find('!') != std::string::npos);
        CHECK(std::string("one\ntwo\n").starts_with(all.substr(0, all.find('!'))));
        // Further reads return the same error.
        CHECK(read(client, *opened->stream).error().code == api::Errc::unavailable);
    }
}

TEST_CASE("a silent stream ends after its idle timeout", "[net]") {
    Client client({.script = [](Peer& peer, int) -> net::Task<> {
        co_await peer.request();
        co_await peer.send(head + chunk("x"));
        co_await peer.rest();
    }});
    auto opened = client.open({}, 0s);
    REQUIRE(opened.has_value());
    CHECK(read_all(client, *opened->stream) ==
          "x!127.0.0.1:" + client.config.port + ": reading the answer took too long");
}

TEST_CASE("the request's timeout does not end a stream", "[net]") {
    Client client({.script = [](Peer& peer, int) -> net::Task<> {
                       co_await peer.request();
                       co_await peer.send(head);
                       co_await net::sleep_for(50ms);
                       co_await peer.send(chunk("late") + "0\r\n\r\n");
                   },
                   .request_timeout = 20ms});
    auto opened = client.open({}, 10s);
    REQUIRE(opened.has_value());
    CHECK(read_all(client, *opened->stream) == "late");
}

TEST_CASE("an error status is an error, not a stream", "[net]") {
    Client client({.script = [](Peer& peer, int) {
        return test::answer_all(peer, "HTTP/1.1 410 Gone\r\nContent-Length: 7\r\n\r\ntoo old");
    }});
    for (int i = 0; i < 2; ++i) {
        const auto opened = client.open({}, 10s);
        REQUIRE(opened.has_value());
        CHECK(opened->response.status == 410);
        CHECK(opened->response.body == "too old");
        CHECK_FALSE(opened->stream);
    }
    CHECK(client.server->connections() == 1);
}

TEST_CASE("a destroyed stream closes its connection and releases its place", "[net]") {
    int gone = 0;
    Client client({.script = [&](Peer& peer, int) -> net::Task<> {
                       co_await peer.request();
                       co_await peer.send(head + chunk("x"));
                       co_await peer.rest();
                       ++gone;
                   },
                   .max_connections = 1});
    for (int i = 1; i <= 3; ++i) {
        auto opened = client.open({}, 10s);
        REQUIRE(opened.has_value());
        opened->stream.reset();
        client.loop.run_until([&] { return gone == i; });
    }
}

TEST_CASE("a stream of a destroyed client returns an error", "[net]") {
    Client client({.tls = true, .script = [&](Peer& peer, int) -> net::Task<> {
                       co_await peer.request();
                       co_await peer.send(head);
                       co_await peer.rest();
                   }});
    auto opened = client.open({}, 10s);
    REQUIRE(opened.has_value());
    SECTION("closed before the read") {
        client.http.reset();
        CHECK(read_all(client, *opened->stream).ends_with("the client was closed"));
    }
    SECTION("closed during the read") {
        std::string ended;
        auto body = [](net::ByteStream& stream, std::string& out) -> net::Task<> {
            const auto bytes = co_await stream.read();
            out = bytes ? "bytes" : bytes.error().message;
        };
        boost::asio::co_spawn(client.loop.context(), body(*opened->stream, ended), boost::asio::detached);
        client.loop.settle();
        client.http.reset();
        client.loop.run_until([&] { return !ended.empty(); });
        CHECK(ended.ends_with("the client was closed"));
    }
}

TEST_CASE("a large stream is not read before its reader asks", "[net]") {
    std::size_t sent = 0;
    Client client({.script = [&](Peer& peer, int) -> net::Task<> {
        co_await peer.request();
        co_await peer.send(head);
        const auto piece = chunk(std::string(100'000, 'x'));
        for (int i = 0; i < 200; ++i) {
            co_await peer.send(piece);
            sent += 100'000;
        }
        co_await peer.send("0\r\n\r\n");
    }});
    auto opened = client.open({}, 10s);
    REQUIRE(opened.has_value());
    for (int i = 0; i < 100; ++i) client.loop.settle();
    // Only the sockets' buffers fill.
    CHECK(sent < 15'000'000);
    CHECK(read_all(client, *opened->stream).size() == 20'000'000);
}
