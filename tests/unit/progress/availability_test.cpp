#include "progress/availability.hpp"

#include <catch2/catch.hpp>

#include "support/printers.hpp"

using api::Json;
using progress::renewal;
using namespace std::chrono_literals;

namespace {

constexpr kube::MicroTime now = std::chrono::sys_days(std::chrono::year(2026) / 1 / 15);
const api::ObjectKey key = {.ns = "system", .name = "signalbox-progress"};

Json lease(std::chrono::seconds acquired_ago, std::chrono::seconds renewed_ago) {
    return Json::object(
        {{"metadata", Json::object({{"name", key.name},
                                    {"namespace", key.ns},
                                    {"resourceVersion", "7"},
                                    {"managedFields", Json::array()}})},
         {"spec", Json::object({{"acquireTime", kube::format_micro_time(now - acquired_ago)},
                                {"renewTime", kube::format_micro_time(now - renewed_ago)}})}});
}

struct Times {
    std::chrono::seconds acquired_ago;
    std::chrono::seconds renewed_ago;
    bool operator==(const Times&) const = default;
};

Times times_of(const std::optional<kube::Request>& request) {
    REQUIRE(request);
    const Json written = api::parse_json(request->body).value();
    const auto ago = [&](const char* name) {
        const auto time = api::parse_time(written["spec"][name].as_string()).value();
        return std::chrono::floor<std::chrono::seconds>(now) - time;
    };
    return {ago("acquireTime"), ago("renewTime")};
}

}  // namespace

TEST_CASE("the first replica creates the Lease", "[availability]") {
    const auto made = renewal(key, Json(), false, now);
    CHECK(times_of(made) == Times{0s, 0s});
    CHECK(made->method == "POST");
    CHECK_THAT(made->target, Catch::StartsWith("/apis/coordination.k8s.io/v1/namespaces/system/leases"));
    CHECK(!renewal(key, Json(), true, now));
}

TEST_CASE("a renewal keeps the time since which reports are accepted", "[availability]") {
    const auto renewed = renewal(key, lease(1h, 10s), false, now);
    CHECK(times_of(renewed) == Times{1h, 0s});
    CHECK(renewed->method == "PUT");
    const Json written = api::parse_json(renewed->body).value();
    CHECK(written["metadata"]["resourceVersion"] == Json("7"));
    CHECK(!written["metadata"].contains("managedFields"));
    CHECK(times_of(renewal(key, lease(1h, 60s), false, now)) == Times{1h, 0s});
}

TEST_CASE("after an interruption the time starts again", "[availability]") {
    CHECK(times_of(renewal(key, lease(1h, 61s), false, now)) == Times{0s, 0s});
    Json broken = lease(1h, 10s);
    broken["spec"].erase("acquireTime");
    CHECK(times_of(renewal(key, broken, false, now)) == Times{0s, 0s});
    broken = lease(1h, 10s);
    broken["spec"]["renewTime"] = "soon";
    CHECK(times_of(renewal(key, broken, false, now)) == Times{0s, 0s});
}

TEST_CASE("a time since which reports are accepted that is far ahead is set again", "[availability]") {
    CHECK(times_of(renewal(key, lease(-60s, 10s), false, now)) == Times{-60s, 0s});
    CHECK(times_of(renewal(key, lease(-61s, 10s), false, now)) == Times{0s, 0s});
}

TEST_CASE("a replica with waiting reports restarts the time and does not renew the Lease", "[availability]") {
    CHECK(times_of(renewal(key, lease(1h, 3s), true, now)) == Times{0s, 3s});
    CHECK(times_of(renewal(key, lease(1h, 100s), true, now)) == Times{0s, 100s});
}

TEST_CASE("a replica does not renew what another one has just renewed", "[availability]") {
    CHECK(!renewal(key, lease(1h, 4s), false, now));
    CHECK(times_of(renewal(key, lease(1h, 5s), false, now)) == Times{1h, 0s});
    // The other one's clock is ahead.
    CHECK(times_of(renewal(key, lease(1h, -300s), false, now)) == Times{1h, 0s});
}
