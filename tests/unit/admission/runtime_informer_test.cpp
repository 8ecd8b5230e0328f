#include "admission/runtime_informer.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <catch2/catch.hpp>
#include <map>

#include "kube/watch/reflector.hpp"
#include "reviews.hpp"
#include "support/fake_api_server.hpp"
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

// Watches what it stores, as kube::Manager does.
struct Watches {
    Watches(boost::asio::io_context& context, kube::ApiServer& server, kube::Clock& clock,
            admission::RuntimeInformer& cache) {
        for (const auto& [scope, sink] : cache.collections())
            reflectors.push_back(std::make_unique<kube::Reflector>(server, clock, sink, scope));
        stops = std::vector<boost::asio::cancellation_signal>(reflectors.size());
        for (std::size_t i = 0; i < stops.size(); ++i)
            boost::asio::co_spawn(context, reflectors[i]->run(),
                                  boost::asio::bind_cancellation_slot(
                                      stops[i].slot(), [this](std::exception_ptr) { ++ended; }));
    }
    void stop() {
        for (auto& each : stops) each.emit(boost::asio::cancellation_type::terminal);
    }
    std::vector<std::unique_ptr<kube::Reflector>> reflectors = {};
    std::vector<boost::asio::cancellation_signal> stops = {};
    int ended = 0;
};

}  // namespace

TEST_CASE("runtimes of both kinds are stored, and every change is reported", "[cache]") {
    boost::asio::io_context context;
    VirtualClock clock(context);
    FakeApiServer server(clock);
    net::Log log{net::LogLevel::error, net::LogFormat::text, [](std::string_view) {}};
    std::map<std::string, admission::RuntimeTextPtr> seen;
    admission::RuntimeInformer cache(
        [&](const api::ObjectKey& key, const auto& runtime) { seen[to_string(key)] = runtime; }, clock, log);

    // The first request is that for the namespaced ones.
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

    Watches watches(context, server, clock, cache);
    clock.run_for(5s);
    REQUIRE(seen["ns/plain"]);
    const Json namespaced = api::parse_json(seen["ns/plain"]->json).value();
    CHECK(namespaced["spec"] == test::namespaced_runtime()["spec"]);
    CHECK(namespaced["metadata"]["managedFields"].is_null());
    REQUIRE(seen["plain"]);
    const Json of_cluster = api::parse_json(seen["plain"]->json).value();
    CHECK(of_cluster["kind"].as_string() == "ClusterTrainingRuntime");
    CHECK(cache.size() == 2);

    clock.run_for(10s);
    CHECK_FALSE(seen["ns/plain"]);
    CHECK(cache.size() == 1);
    CHECK(watches.ended == 0);

    watches.stop();
    clock.run();
    CHECK(watches.ended == 2);
}

TEST_CASE("with --namespaces, runtimes of these namespaces alone are watched, and cluster runtimes",
          "[cache]") {
    boost::asio::io_context context;
    VirtualClock clock(context);
    FakeApiServer server(clock);
    net::Log log{net::LogLevel::error, net::LogFormat::text, [](std::string_view) {}};
    std::map<std::string, admission::RuntimeTextPtr> seen;
    admission::RuntimeInformer cache(
        [&](const api::ObjectKey& key, const auto& runtime) { seen[to_string(key)] = runtime; }, clock, log,
        kube::Namespaces({"ns", "other"}));
    server.watches.push_back(FakeApiServer::Script{event("ADDED", test::namespaced_runtime(), "5"),
                                                   end_of_list("6"), FakeApiServer::Silence{}});
    server.watches.push_back(refusal(403, api::Errc::forbidden));
    server.watches.push_back(FakeApiServer::Script{event("ADDED", test::cluster_runtime(), "5"),
                                                   end_of_list("6"), FakeApiServer::Silence{}});
    Watches watches(context, server, clock, cache);
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
    CHECK(cache.size() == 2);
    watches.stop();
    clock.run();
}

TEST_CASE("namespaced runtimes are stored up to a bound of bytes, for each namespace and in total",
          "[cache]") {
    boost::asio::io_context context;
    VirtualClock clock(context);
    FakeApiServer server(clock);
    std::vector<std::string> lines;
    net::Log log{net::LogLevel::warn, net::LogFormat::text,
                 [&](std::string_view line) { lines.emplace_back(line); }};
    std::map<std::string, admission::RuntimeTextPtr> seen;
    admission::RuntimeInformer cache(
        [&](const api::ObjectKey& key, const auto& runtime) { seen[to_string(key)] = runtime; }, clock, log);
    const auto large = [](const std::string& ns, const std::string& name) {
        Json runtime = test::namespaced_runtime(name);
        runtime["metadata"]["namespace"] = ns;
        runtime["spec"]["text"] = std::string(900'000, 'x');
        return runtime;
    };
    // Two for each of a few namespaces; a third exceeds the bound of each.
    FakeApiServer::Script script;
    for (const char* ns : {"a", "b", "c", "d", "e", "f", "g", "h", "i"})
        for (const char* name : {"one", "two", "three"})
            script.emplace_back(event("ADDED", large(ns, name), "5"));
    script.push_back(event("ADDED", test::namespaced_runtime("small"), "5"));
    script.push_back(end_of_list("6"));
    script.push_back(1s);
    script.push_back(event("DELETED", large("a", "one"), "7"));
    script.push_back(event("MODIFIED", large("a", "three"), "8"));
    script.push_back(FakeApiServer::Silence{});
    server.watches.push_back(script);
    Watches watches(context, server, clock, cache);
    clock.run_for(500ms);
    CHECK(seen["a/one"]);
    CHECK(seen["a/two"]);
    CHECK_FALSE(seen["a/three"]);
    CHECK(seen["h/one"]);
    CHECK(seen["ns/small"]);
    // Many have no room, which is logged for the first of them.
    REQUIRE(lines.size() == 1);
    CHECK_THAT(lines.front(),
               Catch::Contains("too many or too large runtimes") && Catch::Contains("a/three"));
    std::size_t sum = 0;
    for (const auto& [key, text] : seen) sum += text ? text->bytes() : 0;
    CHECK(sum <= admission::RuntimeInformer::Bounds().of_all);
    CHECK(sum > admission::RuntimeInformer::Bounds().of_all - 1'000'000);
    CHECK(cache.size() == static_cast<std::size_t>(std::ranges::count_if(
                              seen, [](const auto& one) { return one.second != nullptr; })));
    // A deletion makes room.
    clock.run_for(2s);
    CHECK_FALSE(seen["a/one"]);
    CHECK(seen["a/three"]);
    watches.stop();
    clock.run();
}

TEST_CASE("of a runtime that is too large for reviews, only the size is stored", "[cache]") {
    Json runtime = test::cluster_runtime();
    runtime["spec"]["x"] = Json(Json::Array(admission::max_runtime_values, Json("")));
    const auto text = admission::make_runtime_text(runtime);
    CHECK(text->is_too_large());
    CHECK(text->json.empty());
    CHECK(text->bytes() < 5'000);
}

TEST_CASE("the annotation with what kubectl applied last is not stored", "[cache]") {
    Json runtime = test::cluster_runtime();
    const std::string bytes = admission::make_runtime_text(runtime)->json;
    runtime["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = "x";
    CHECK(admission::make_runtime_text(runtime)->json.size() < bytes.size() + 30);
}
