#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <catch2/catch.hpp>

#include "server_fixture.hpp"

using namespace std::chrono_literals;
using test::body_of;
using test::status_of;
using test::TestServer;

namespace {

const std::string echo = "GET /echo HTTP/1.1\r\nHost: test\r\n\r\n";
const std::string hang = "GET /hang HTTP/1.1\r\nHost: test\r\n\r\n";

struct Drain {
    Drain(TestServer& server, std::chrono::milliseconds grace) {
        boost::asio::co_spawn(server.loop.executor(), server.server->drain(grace),
                              [this](std::exception_ptr) { done = true; });
    }
    bool done = false;
};

bool says_close(const std::string& response) {
    return response.find("Connection: close\r\n") != std::string::npos;
}

}  // namespace

TEST_CASE("draining closes idle connections and lets requests finish", "[net]") {
    for (const bool tls : {false, true}) {
        DYNAMIC_SECTION((tls ? "TLS" : "plain")) {
            TestServer server({.tls = tls});
            server.run([&]() -> net::Task<> {
                const auto idle = co_await server.connect();
                co_await idle->ask(echo);
                const auto busy = co_await server.connect();
                co_await busy->send(hang);
                while (server.stats().in_flight == 0) co_await test::let_others_run();

                const Drain drain(server, 10s);
                const auto nothing = co_await idle->rest();
                CHECK(nothing.empty());
                CHECK(idle->ended_properly);
                CHECK_FALSE(drain.done);
                server.release();
                const auto last = co_await busy->rest();
                CHECK(body_of(last) == "GET /hang ");
                CHECK(says_close(last));
                CHECK(busy->ended_properly);
                co_await busy->close();
                while (!drain.done) co_await test::let_others_run();
            });
            CHECK_THROWS_AS(server.loop.run(test::connect(server.port)), boost::system::system_error);
        }
    }
}

TEST_CASE("a request that has begun to arrive is answered while draining", "[net]") {
    TestServer server;
    server.run([&]() -> net::Task<> {
        const auto peer = co_await server.connect();
        co_await peer->ask(echo);
        co_await peer->send(echo.substr(0, 10));
        // The server has not seen it yet: it is in the socket's buffer.
        const Drain drain(server, 10s);
        co_await peer->send(echo.substr(10));
        const auto last = co_await peer->rest();
        CHECK(status_of(last) == 200);
        CHECK(says_close(last));
    });
}

TEST_CASE("a connection in the backlog gets one answer while draining", "[net]") {
    TestServer server;
    server.run([&]() -> net::Task<> {
        const auto peer = co_await server.connect();
        const Drain drain(server, 10s);
        const auto response = co_await peer->ask(echo);
        CHECK(status_of(response) == 200);
        CHECK(says_close(response));
    });
}

TEST_CASE("requests that do not finish within the grace period are cut", "[net]") {
    TestServer server;
    server.run([&]() -> net::Task<> {
        const auto slow = co_await server.connect();
        co_await slow->send("GET /ec");
        const auto stuck = co_await server.connect();
        co_await stuck->send(hang);
        while (server.stats().in_flight == 0) co_await test::let_others_run();
        co_await server.server->drain(5ms);
        const auto nothing = co_await slow->rest();
        CHECK(nothing.empty());
        server.release();
        while (server.stats().connections > 0) co_await test::let_others_run();
    });
}

TEST_CASE("close_after_response() asks clients to reconnect elsewhere", "[net]") {
    TestServer server;
    server.run([&]() -> net::Task<> {
        const auto peer = co_await server.connect();
        auto response = co_await peer->ask(echo);
        CHECK_FALSE(says_close(response));
        server.server->close_after_response();
        response = co_await peer->ask(echo);
        CHECK(status_of(response) == 200);
        CHECK(says_close(response));
        const auto other = co_await server.connect();
        response = co_await other->ask(echo);
        CHECK(status_of(response) == 200);
    });
}

TEST_CASE("a server may be destroyed at any time", "[net]") {
    TestServer server({.tls = true});
    server.run([&]() -> net::Task<> {
        const auto idle = co_await server.connect();
        co_await idle->ask(echo);
        const auto busy = co_await server.connect();
        co_await busy->send(hang);
        const auto silent = co_await test::connect(server.port);
        while (server.stats().in_flight == 0) co_await test::let_others_run();
        server.server.reset();
        const auto nothing = co_await idle->rest();
        CHECK(nothing.empty());
        server.release();
        // Its handler cannot be stopped from outside; the answer is sent if that is still possible.
        const auto last = co_await busy->rest();
        CHECK(says_close(last));
    });
}

TEST_CASE("a loop may end with connections open", "[net]") {
    auto server = std::make_unique<TestServer>(test::TestServerOptions{.tls = true});
    std::vector<test::PeerPtr> peers;
    server->run([&]() -> net::Task<> {
        for (int i = 0; i < 3; ++i) {
            peers.push_back(co_await server->connect());
            const std::string sent = i == 0 ? echo : i == 1 ? hang : "GET";
            co_await peers.back()->send(sent);
        }
        co_await test::let_others_run();
    });
    peers.clear();
    server.reset();
}

TEST_CASE("a port in use is an error that names the remedy", "[net]") {
    TestServer first;
    net::ServerConfig config;
    config.host = "127.0.0.1";
    config.port = first.port;
    const auto handler = [](net::HttpRequest&) -> net::Answer { return net::HttpResponse{}; };
    const auto second = net::make_http_server(first.loop.executor(), config, handler, first.log);
    const auto port = second->start();
    REQUIRE(port.has_error());
    CHECK(port.error().message == "cannot listen on 127.0.0.1:" + std::to_string(first.port) +
                                      ": the port is in use: stop its owner or choose another port");

    config.host = "192.0.2.1";
    const auto elsewhere = net::make_http_server(first.loop.executor(), config, handler, first.log);
    CHECK(elsewhere->start().error().message.find("choose an address of this machine") != std::string::npos);

    config.host = "no such host";
    const auto nowhere = net::make_http_server(first.loop.executor(), config, handler, first.log);
    CHECK(nowhere->start().error().message.find("no such address") != std::string::npos);
}

TEST_CASE("several servers can share a port", "[net]") {
    test::Loop loop;
    net::Log log(net::LogLevel::error);
    net::ServerConfig config;
    config.host = "127.0.0.1";
    config.share_port = true;
    const auto handler = [](net::HttpRequest&) -> net::Answer { return net::HttpResponse{}; };
    const auto first = net::make_http_server(loop.executor(), config, handler, log);
    config.port = first->start().value();
    const auto second = net::make_http_server(loop.executor(), config, handler, log);
    CHECK(second->start().value() == config.port);
}
