#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <catch2/catch.hpp>
#include <deque>

#include "client_fixture.hpp"

using namespace std::chrono_literals;
using test::Client;
using test::Peer;

namespace {

const std::string ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

// Results of requests, in the order in which these ended.
struct Running {
    explicit Running(Client& the_client) : client(the_client) {}
    // The signals must outlive what they can cancel.
    ~Running() {
        client.http.reset();
        client.loop.run_until([&] { return finished == signals.size(); });
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

    void start(const std::string& target) {
        auto body = [](net::Async<net::HttpResponse> task, std::string path, Running& all) -> net::Task<> {
            const auto response = co_await std::move(task);
            all.ended.push_back(path + (response ? " ok" : ": " + response.error().message));
        };
        signals.emplace_back();
        boost::asio::co_spawn(client.loop.context(),
                              body(client.http->send({.target = target}, 1 << 20), target, *this),
                              boost::asio::bind_cancellation_slot(
                                  signals.back().slot(), [this](std::exception_ptr) { ++finished; }));
    }
    void wait_for(std::size_t count) {
        client.loop.run_until([&] { return ended.size() >= count; });
    }

    Client& client;
    std::deque<boost::asio::cancellation_signal> signals = {};
    std::vector<std::string> ended = {};
    std::size_t finished = 0;
};

// Answers when the test says so.
struct Gate {
    test::ScriptedServer::Script script() {
        return [this](Peer& peer, int) -> net::Task<> { return serve(peer); };
    }
    net::Task<> serve(Peer& peer) {
        for (;;) {
            const auto request = co_await peer.request();
            if (request.empty()) {
                ++gone;
                co_return;
            }
            arrived.push_back(request.substr(4, request.find(' ', 4) - 4));
            while (permits == 0) co_await net::sleep_for(1ms);
            --permits;
            co_await peer.send(ok);
        }
    }
    std::vector<std::string> arrived = {};
    int permits = 0;
    int gone = 0;
};

}  // namespace

TEST_CASE("requests beyond the limit wait in line", "[net]") {
    Gate gate;
    Client client({.script = gate.script(), .max_connections = 2});
    Running running(client);
    for (const char* target : {"/1", "/2", "/3", "/4", "/5"}) running.start(target);
    client.loop.run_until([&] { return gate.arrived.size() == 2; });
    for (std::size_t done = 1; done <= 5; ++done) {
        gate.permits = 1;
        running.wait_for(done);
        client.loop.run_until([&] { return gate.arrived.size() == std::min<std::size_t>(done + 2, 5); });
    }
    CHECK(client.server->connections() == 2);
    CHECK(std::vector<std::string>(gate.arrived.begin() + 2, gate.arrived.end()) ==
          std::vector<std::string>{"/3", "/4", "/5"});
    for (const auto& end : running.ended) CHECK(end.ends_with(" ok"));
}

TEST_CASE("waiting in line counts toward the request's timeout", "[net]") {
    Gate gate;
    Client client({.script = gate.script(), .request_timeout = 20ms, .max_connections = 1});
    Running running(client);
    running.start("/1");
    running.start("/2");
    running.wait_for(2);
    for (const auto& end : running.ended)
        CHECK((end.find("took too long") != std::string::npos ||
               end.find("no free connection") != std::string::npos));
    // The request that timed out has released its place.
    gate.permits = 10;
    CHECK(client.send({}).has_value());
}

TEST_CASE("a cancelled request releases its place to the next", "[net]") {
    for (const bool tls : {false, true}) {
        Gate gate;
        Client client({.tls = tls, .script = gate.script(), .max_connections = 1});
        Running running(client);
        running.start("/holder");
        running.start("/in line");
        running.start("/next");
        client.loop.run_until([&] { return gate.arrived.size() == 1; });
        // The request that waits in line, then the one that waits for its answer.
        running.signals[1].emit(boost::asio::cancellation_type::terminal);
        client.loop.settle();
        running.signals[0].emit(boost::asio::cancellation_type::terminal);
        gate.permits = 3;
        client.loop.run_until([&] { return !running.ended.empty() && running.ended.back() == "/next ok"; });
        client.loop.run_until([&] { return gate.gone == 1; });
        CHECK(client.send({}).has_value());
    }
}

TEST_CASE("a request can be cancelled at each of its steps", "[net]") {
    for (const bool tls : {false, true}) {
        // Turns of the loop until the cancellation: from before the connect to after the answer.
        for (int turns = 0; turns < 40; turns += tls ? 3 : 1) {
            Client client({.tls = tls, .script = [](Peer& peer, int) { return test::answer_all(peer, ok); }});
            Running running(client);
            running.start("/");
            client.loop.context().restart();
            for (int i = 0; i < turns; ++i) client.loop.context().poll_one();
            running.signals[0].emit(boost::asio::cancellation_type::terminal);
            client.loop.settle();
            CHECK(client.send({}).has_value());
        }
    }
}

TEST_CASE("closing the client fails all requests", "[net]") {
    Gate gate;
    Client client({.script = gate.script(), .max_connections = 2});
    Running running(client);
    for (const char* target : {"/1", "/2", "/3"}) running.start(target);
    client.loop.run_until([&] { return gate.arrived.size() == 2; });
    client.http.reset();
    running.wait_for(3);
    for (const auto& end : running.ended) CHECK(end.ends_with("the client was closed"));
    gate.permits = 10;
    client.loop.run_until([&] { return gate.gone == 2; });
}

TEST_CASE("a client may be closed while it connects", "[net]") {
    for (const char* host : {"127.0.0.1", "localhost"}) {
        Client client({.tls = true,
                       .script = [](Peer& peer, int) { return test::answer_all(peer, ok); },
                       .host = host});
        Running running(client);
        running.start("/");
        client.loop.context().restart();
        client.loop.context().poll_one();
        client.http.reset();
        running.wait_for(1);
        CHECK(running.ended[0].ends_with("the client was closed"));
    }
}

TEST_CASE("a loop may end with requests under way", "[net]") {
    Gate gate;
    auto client = std::make_unique<Client>(
        test::ClientOptions{.tls = true, .script = gate.script(), .max_connections = 1});
    auto http = std::move(client->http);
    for (int i = 0; i < 3; ++i) {
        boost::asio::co_spawn(client->loop.context(), http->send({}, 1 << 20), boost::asio::detached);
    }
    client->loop.run_until([&] { return gate.arrived.size() == 1; });
    client->server->stop();
    SECTION("the loop first") {
        // The fixture runs the loop until it is idle; the rest is destroyed with it.
        client.reset();
        http.reset();
    }
    SECTION("the client first") {
        http.reset();
        client.reset();
    }
}

TEST_CASE("idle connections are closed and replaced after a new configuration", "[net]") {
    Gate gate;
    gate.permits = 100;
    Client client({.script = gate.script()});
    CHECK(client.send({}).has_value());
    client.http->reconfigure(client.config);
    client.loop.run_until([&] { return gate.gone == 1; });
    CHECK(client.send({}).has_value());
    CHECK(client.server->connections() == 2);

    // A busy connection finishes its request and is not used again.
    gate.permits = 0;
    Running running(client);
    running.start("/busy");
    client.loop.run_until([&] { return gate.arrived.size() == 3; });
    client.http->reconfigure(client.config);
    gate.permits = 100;
    running.wait_for(1);
    CHECK(running.ended[0] == "/busy ok");
    CHECK(client.send({}).has_value());
    CHECK(client.server->connections() == 3);
}

TEST_CASE("a broken new configuration is reported, and the client keeps the one before", "[net]") {
    Client client({.tls = true, .script = [](Peer& peer, int) { return test::answer_all(peer, ok); }});
    CHECK(client.send({}).has_value());
    auto config = client.config;
    config.ca_pem = "nonsense";
    const auto changed = client.http->reconfigure(config);
    REQUIRE(changed.has_error());
    CHECK(api::describe(changed.error()) == "CA: no PEM block CERTIFICATE found");
    CHECK(client.send({}).has_value());
    CHECK(client.server->connections() == 1);
    CHECK(client.http->reconfigure(client.config));
    CHECK(client.send({}).has_value());
    CHECK(client.server->connections() == 2);
}
