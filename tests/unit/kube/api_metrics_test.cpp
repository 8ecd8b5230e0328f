#include "kube/manager/api_metrics.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <catch2/catch.hpp>

#include "kube/watch/reflector.hpp"
#include "recording_sink.hpp"
#include "support/fake_api_server.hpp"

using namespace std::chrono_literals;

namespace {

constexpr kube::SteadyTime t0 = kube::SteadyTime(1000h);

struct Office {
    std::string lines = {};
    net::Log log{net::LogLevel::info, net::LogFormat::json, [this](std::string_view line) { lines += line; }};
    net::Metrics metrics = {};
    kube::ApiMetrics reporter{log, metrics};

    // Returns whether the missing permission was logged.
    bool refuse(const std::string& verb, kube::SteadyTime now) {
        lines.clear();
        reporter.forbidden({.code = api::Errc::forbidden,
                            .message = "User \"u\" cannot " + verb +
                                       " resource \"jobsets\" in API group \"jobset.x-k8s.io\"",
                            .http_status = 403},
                           now);
        return !lines.empty();
    }
};

}  // namespace

TEST_CASE("a missing permission is logged once, with the remedy", "[kube]") {
    Office office;
    REQUIRE(office.refuse("patch", t0));
    CHECK_THAT(office.lines, Catch::Contains("\"level\":\"warn\"") && Catch::Contains("RBAC") &&
                                 Catch::Contains("\"verb\":\"patch\"") &&
                                 Catch::Contains("\"resource\":\"jobsets.jobset.x-k8s.io\""));
    CHECK(office.refuse("create", t0));
    // While requests are refused again and again.
    for (auto now = t0; now < t0 + 1h; now += 5min) CHECK(!office.refuse("patch", now));
    CHECK(office.refuse("patch", t0 + 2h));
}

TEST_CASE("refusals of an API server that is starting are not logged as missing permissions", "[kube]") {
    Office office;
    office.reporter.unreachable(t0);
    CHECK(!office.refuse("patch", t0 + 29s));
    CHECK(office.refuse("patch", t0 + 30s));
}

TEST_CASE("a refusal by another policy is no missing permission", "[kube]") {
    Office office;
    office.reporter.forbidden({.code = api::Errc::forbidden, .message = "exceeded quota", .http_status = 403},
                              t0);
    CHECK(office.lines.empty());
}

TEST_CASE("requests are counted by verb, resource and code", "[kube]") {
    Office office;
    const auto options = office.reporter.options();
    options.on_answer("PATCH", "jobsets.jobset.x-k8s.io", 200);
    options.on_answer("PATCH", "jobsets.jobset.x-k8s.io", 200);
    options.on_answer("WATCH", "configmaps", 0);
    const std::string text = office.metrics.expose();
    CHECK_THAT(text, Catch::Contains("code=\"200\",resource=\"jobsets.jobset.x-k8s.io\",verb=\"PATCH\"} 2") &&
                         Catch::Contains("code=\"0\",resource=\"configmaps\",verb=\"WATCH\"} 1"));
}

TEST_CASE("watches of one resource in several namespaces are one series", "[kube]") {
    Office office;
    boost::asio::io_context context;
    VirtualClock clock(context);
    FakeApiServer server(clock);
    using Script = FakeApiServer::Script;
    server.watches = {Script{end_of_list("9"), 200s, refusal(0, api::Errc::unavailable, "reset")},
                      Script{end_of_list("9"), 250s, refusal(0, api::Errc::unavailable, "reset")},
                      Script{FakeApiServer::Silence{}}};
    for (int i = 0; i < 20; ++i) server.watches.push_back(refusal(403, api::Errc::forbidden));
    RecordingSink sink;
    kube::Reflector a(server, clock, sink, {.resource = kube::resources::train_jobs, .ns = "a"});
    kube::Reflector b(server, clock, sink, {.resource = kube::resources::train_jobs, .ns = "b"});
    boost::asio::cancellation_signal stops[2];
    int next = 0;
    for (kube::Reflector* each : {&a, &b}) {
        office.reporter.follow(*each);
        boost::asio::co_spawn(
            context, each->run(),
            boost::asio::bind_cancellation_slot(stops[next++].slot(), [](std::exception_ptr) {}));
    }
    const auto reported = [&](const std::string& name, const std::string& labels, int value) {
        return office.metrics.expose().find(name + "{" + labels +
                                            "resource=\"trainjobs.trainer.kubeflow.org\"} " +
                                            std::to_string(value) + "\n") != std::string::npos;
    };
    CHECK(reported("signalbox_watch_working", "", 0));
    clock.run_for(1s);
    CHECK(reported("signalbox_watch_working", "", 1));
    clock.run_for(259s);  // both broke, and one is forbidden now
    CHECK(reported("signalbox_watch_working", "", 0));
    CHECK(reported("signalbox_watch_restarts_total", "reason=\"broken\",", 2));
    for (auto& stop : stops) stop.emit(boost::asio::cancellation_type::terminal);
    clock.run();
}
