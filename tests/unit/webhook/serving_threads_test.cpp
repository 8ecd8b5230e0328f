#include "serving/serving_threads.hpp"

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <catch2/catch.hpp>

#include "kube/client/https_api_server.hpp"
#include "net/client/http_client.hpp"
#include "reviews.hpp"
#include "support/answering_server.hpp"
#include "support/printers.hpp"

using api::Json;
using namespace std::chrono_literals;

namespace {

api::Result<webhook::ApiClients> no_cluster(boost::asio::any_io_executor, kube::Clock&) {
    return webhook::ApiClients{.lookups = std::make_unique<AnsweringServer>()};
}

struct Fixture {
    boost::asio::io_context context{1};
    net::Log log{net::LogLevel::error, net::LogFormat::text, [](std::string_view) {}};
    net::Metrics metrics;
    admission::ReviewMetrics review_metrics{metrics};
    net::ServerConfig config{.host = "127.0.0.1"};

    kube::AuthPolicy callers;
    kube::Namespaces namespaces;
    admission::ReviewPolicy policy;
    net::LoopGaps loop_gaps;

    webhook::SharedServices tools() {
        return {review_metrics, log, runtime::default_pipeline(), callers, namespaces, policy, loop_gaps};
    }
    void run(net::Task<> task) {
        bool done = false;
        boost::asio::co_spawn(context, std::move(task), [&](std::exception_ptr thrown) {
            done = true;
            if (thrown) std::rethrow_exception(thrown);
        });
        const auto end = std::chrono::steady_clock::now() + 20s;
        context.restart();
        while (!done && std::chrono::steady_clock::now() < end) context.run_one_for(1s);
        REQUIRE(done);
    }
};

struct Answers {
    int allowed = 0;
    int denied = 0;
};

// Each on a connection of its own, so that every thread gets some.
net::Task<> ask_often(std::uint16_t port, int times, Answers& answers) {
    const auto executor = co_await boost::asio::this_coro::executor;
    for (int i = 0; i < times; ++i) {
        net::ClientConfig config;
        config.host = "127.0.0.1";
        config.port = std::to_string(port);
        config.tls = false;
        const auto client = net::make_http_client(executor, config).value();
        net::HttpRequest request =
            test::post(test::train_job_path, test::review("CREATE", test::train_job()));
        const auto response = co_await client->send(std::move(request), 1 << 20);
        if (!response) throw std::runtime_error(response.error().message);
        const bool allowed = response->body.find("\"allowed\":true") != std::string::npos;
        ++(allowed ? answers.allowed : answers.denied);
    }
}

}  // namespace

TEST_CASE("serving threads share a port and get every runtime", "[serving][threads]") {
    for (const int count : {1, 3}) {
        DYNAMIC_SECTION(count << " threads") {
            Fixture fixture;
            webhook::ServingThreads lanes(fixture.context.get_executor(), fixture.tools());
            const auto port = lanes.start(count, fixture.config, no_cluster);
            REQUIRE(port);

            Answers before;
            fixture.run(ask_often(*port, 20, before));
            CHECK(before.denied == 20);

            lanes.update({"", "plain"}, admission::make_runtime_text(test::cluster_runtime()));
            Answers after;
            fixture.run(ask_often(*port, 20, after));
            CHECK(after.allowed == 20);
            CHECK(lanes.total([](const net::ServerStats& s) { return double(s.requests); }) == 40);

            lanes.update({"", "plain"}, nullptr);
            Answers at_last;
            fixture.run(ask_often(*port, 20, at_last));
            CHECK(at_last.denied == 20);

            fixture.run(lanes.drain(5s));
            CHECK(lanes.total([](const net::ServerStats& s) { return double(s.connections); }) == 0);
        }
    }
}

TEST_CASE("reviews that wait for a silent API server are answered before the shutdown ends",
          "[serving][threads]") {
    for (const int count : {1, 3}) {
        DYNAMIC_SECTION(count << " threads") {
            Fixture fixture;
            // Connections end in the port's backlog.
            boost::asio::ip::tcp::acceptor silent(fixture.context,
                                                  {boost::asio::ip::address_v4::loopback(), 0});
            const kube::ClusterConfig config = {
                .host = "127.0.0.1", .port = std::to_string(silent.local_endpoint().port()), .tls = false};
            std::atomic<int> lost = 0;
            webhook::ServingThreads lanes(fixture.context.get_executor(), fixture.tools());
            const auto connect = [&](boost::asio::any_io_executor executor,
                                     kube::Clock& clock) -> api::Result<webhook::ApiClients> {
                kube::HttpsApiServerOptions options;
                options.on_answer = [&](auto, auto&, int status) { lost += status == 0; };
                auto server = kube::make_https_api_server(executor, clock, config, std::move(options));
                return webhook::ApiClients{.lookups = std::move(server.value())};
            };
            const auto port = lanes.start(count, fixture.config, connect);
            REQUIRE(port);
            Answers answers;
            bool ended = false;
            boost::asio::co_spawn(fixture.context, ask_often(*port, 1, answers),
                                  [&](std::exception_ptr) { ended = true; });
            const auto in_flight = [](const net::ServerStats& s) { return double(s.in_flight); };
            while (lanes.total(in_flight) < 1 && !ended) fixture.context.run_one_for(10ms);
            fixture.run(lanes.drain(1s));
            while (!ended) fixture.context.run_one_for(10ms);
            CHECK(answers.denied == 1);
            CHECK(lost == 1);
        }
    }
}

TEST_CASE("a port in use is refused, also if another webhook uses it", "[serving][threads]") {
    for (const int count : {1, 2}) {
        DYNAMIC_SECTION(count << " threads") {
            Fixture fixture;
            webhook::ServingThreads first(fixture.context.get_executor(), fixture.tools());
            const auto port = first.start(count, fixture.config, no_cluster);
            REQUIRE(port);
            fixture.config.port = *port;
            webhook::ServingThreads second(fixture.context.get_executor(), fixture.tools());
            const auto refused = second.start(count, fixture.config, no_cluster);
            REQUIRE_FALSE(refused);
            CHECK_THAT(refused.error().message,
                       Catch::Contains("127.0.0.1:" + std::to_string(*port)) && Catch::Contains("in use"));
        }
    }
}

TEST_CASE("serving threads that were not drained end as well", "[serving][threads]") {
    Fixture fixture;
    webhook::ServingThreads lanes(fixture.context.get_executor(), fixture.tools());
    CHECK(lanes.start(2, fixture.config, no_cluster));
}
