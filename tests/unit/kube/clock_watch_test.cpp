#include "kube/manager/clock_watch.hpp"

#include <catch2/catch.hpp>

using namespace std::chrono_literals;

TEST_CASE("a clock skew is in the metrics at once, and in the log once", "[reconciler]") {
    std::string lines;
    net::Log log(net::LogLevel::info, net::LogFormat::json, [&](std::string_view line) { lines += line; });
    net::Metrics metrics;
    kube::ClockWatch watch(log, metrics);
    CHECK_THAT(metrics.expose(), Catch::Contains("\nsignalbox_clock_skew_seconds 0\n"));

    kube::SteadyTime came(1000h);
    const kube::MicroTime date = std::chrono::sys_days(std::chrono::year(2026) / 11 / 23);
    const auto answer = [&](std::chrono::seconds ahead) {
        came += 31s;
        watch.note({.date = "Mon, 23 Nov 2026 00:00:00 GMT", .came = came, .wall = date + ahead});
    };
    answer(90s);
    CHECK_THAT(metrics.expose(), Catch::Contains("\nsignalbox_clock_skew_seconds 89\n"));
    answer(90s);
    CHECK(lines.empty());
    answer(90s);
    CHECK_THAT(lines, Catch::Contains("\"level\":\"warn\"") && Catch::Contains("ahead of the API server's") &&
                          Catch::Contains("\"seconds_ahead\":89"));
    lines.clear();
    answer(90s);
    CHECK(lines.empty());
    answer(0s);
    CHECK_THAT(lines, Catch::Contains("\"level\":\"info\"") && Catch::Contains("agrees"));
    lines.clear();
    for (int i = 0; i < 3; ++i) answer(-90s);
    CHECK_THAT(lines, Catch::Contains("behind the API server's"));
    CHECK_THAT(metrics.expose(), Catch::Contains("\nsignalbox_clock_skew_seconds -90\n"));
}
