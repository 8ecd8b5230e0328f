#include "runtime_cache.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <catch2/catch.hpp>
#include <map>

#include "fake_api_server.hpp"
#include "reviews.hpp"
#include "support/printers.hpp"

using api::Json;
using namespace std::chrono_literals;

namespace {

std::string event(const char* type, Json object, const char* version) {
    object["metadata"]["resourceVersion"] = version;
    return to_json(Json::object({{"type", type}, {"object", object}}));
}

std::string end_of_list(const char* version) {
    return to_json(Json::object(
        {{"type", "BOOKMARK"},
         {"object",
          Json::object({{"metadata", Json::object({{"resourceVersion", version},
                                                   {"annotations", Json::object({{"k8s.io/initial-events-end",
                                                                                  "true"}})}})}})}}));
}

// The loops of all its watches.
struct Running {
    Running(boost::asio::io_context& context, webhook::RuntimeCache& cache) : stops(cache.watches().size()) {
        for (std::size_t i = 0; i < stops.size(); ++i)
            boost::asio::co_spawn(context, cache.watches()[i]->run(),
                                  boost::asio::bind_cancellation_slot(
                                      stops[i].slot(), [this](std::exception_ptr) { ++ended; }));
    }
    void stop() {
        for (auto& each : stops) each.emit(boost::asio::cancellation_type::terminal);
    }
    std::vector<boost::asio::cancellation_signal> stops;
    int ended = 0;
};

}  // namespace

TEST_CASE("the cache tells of both kinds of runtimes", "[cache]") {
    boost::asio::io_context context;
    VirtualClock clock(context);
    FakeApiServer server(clock);
    std::map<std::string, std::shared_ptr<const Json>> seen;
    std::vector<std::string> log;
    webhook::RuntimeCache cache(
        server, clock,
        [&](const api::ObjectKey& key, const auto& runtime) { seen[to_string(key)] = runtime; },
        [&](const kube::Scope& scope, const api::Error* trouble) {
            log.push_back(to_string(scope.resource) + (trouble ? " fails" : " works"));
        });
    CHECK(cache.not_synced().size() == 2);

    // The namespaced ones are asked for first.
    Json managed = test::namespaced_runtime();
    managed["metadata"]["managedFields"] = Json::array({"long"});
    server.watches.push_back(FakeApiServer::Script{event("ADDED", managed, "5"), end_of_list("6"), 10s,
                                                   event("DELETED", managed, "7"), FakeApiServer::Silence{}});
    SECTION("and of their deletion") {
        server.watches.push_back(FakeApiServer::Script{event("ADDED", test::cluster_runtime(), "5"),
                                                       end_of_list("6"), FakeApiServer::Silence{}});
    }
    SECTION("also when one of them is not served at first") {
        server.watches.push_back(refusal(404, api::Errc::not_found));
        server.watches.push_back(FakeApiServer::Script{event("ADDED", test::cluster_runtime(), "5"),
                                                       end_of_list("6"), FakeApiServer::Silence{}});
    }

    Running running(context, cache);
    clock.run_for(5s);
    CHECK(cache.not_synced().empty());
    REQUIRE(seen["ns/plain"]);
    CHECK((*seen["ns/plain"])["spec"] == test::namespaced_runtime()["spec"]);
    CHECK((*seen["ns/plain"])["metadata"]["managedFields"].is_null());
    REQUIRE(seen["plain"]);
    CHECK((*seen["plain"])["kind"].as_string() == "ClusterTrainingRuntime");
    CHECK(cache.size() == 2);
    CHECK(log.size() >= 2);

    clock.run_for(10s);
    CHECK_FALSE(seen["ns/plain"]);
    CHECK(cache.size() == 1);
    CHECK(running.ended == 0);

    running.stop();
    clock.run();
    CHECK(running.ended == 2);
}

TEST_CASE("a cache of some namespaces asks for theirs alone, and for what all share", "[cache]") {
    boost::asio::io_context context;
    VirtualClock clock(context);
    FakeApiServer server(clock);
    std::map<std::string, std::shared_ptr<const Json>> seen;
    webhook::RuntimeCache cache(
        server, clock,
        [&](const api::ObjectKey& key, const auto& runtime) { seen[to_string(key)] = runtime; }, {},
        kube::Namespaces({"ns", "other"}));
    server.watches.push_back(FakeApiServer::Script{event("ADDED", test::namespaced_runtime(), "5"),
                                                   end_of_list("6"), FakeApiServer::Silence{}});
    server.watches.push_back(refusal(403, api::Errc::forbidden));
    server.watches.push_back(FakeApiServer::Script{event("ADDED", test::cluster_runtime(), "5"),
                                                   end_of_list("6"), FakeApiServer::Silence{}});
    Running running(context, cache);
    clock.run_for(100ms);
    std::vector<std::string> asked;
    for (const auto& request : server.requests)
        asked.push_back(request.target.substr(0, request.target.find('?')));
    const std::string base = "/apis/trainer.kubeflow.org/v1alpha1/";
    CHECK(asked == std::vector<std::string>{base + "namespaces/ns/trainingruntimes",
                                            base + "namespaces/other/trainingruntimes",
                                            base + "clustertrainingruntimes"});
    CHECK(seen["ns/plain"]);
    CHECK(seen["plain"]);
    // The namespace that refuses us stops nobody else.
    CHECK(cache.not_synced().empty());
    running.stop();
    clock.run();
}
