#include "kube/api_reporter.hpp"

#include <catch2/catch.hpp>

using namespace std::chrono_literals;

namespace {

constexpr kube::SteadyTime t0 = kube::SteadyTime(1000h);

struct Office {
    std::string lines = {};
    net::Log log{net::LogLevel::info, net::LogFormat::json, [this](std::string_view line) { lines += line; }};
    net::Metrics metrics = {};
    kube::ApiReporter reporter{log, metrics};

    // Whether it was told.
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

TEST_CASE("a missing permission is told once, with what to do", "[kube]") {
    Office office;
    REQUIRE(office.refuse("patch", t0));
    CHECK_THAT(office.lines, Catch::Contains("\"level\":\"warn\"") && Catch::Contains("RBAC") &&
                                 Catch::Contains("\"verb\":\"patch\"") &&
                                 Catch::Contains("\"resource\":\"jobsets.jobset.x-k8s.io\""));
    CHECK(office.refuse("create", t0));
    // As long as it is asked for again and again.
    for (auto now = t0; now < t0 + 1h; now += 5min) CHECK(!office.refuse("patch", now));
    CHECK(office.refuse("patch", t0 + 2h));
}

TEST_CASE("what an API server refuses while it starts is not believed", "[kube]") {
    Office office;
    office.reporter.unreachable(t0);
    CHECK(!office.refuse("patch", t0 + 29s));
    CHECK(office.refuse("patch", t0 + 30s));
}

TEST_CASE("a refusal by another policy is nobody's missing permission", "[kube]") {
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
