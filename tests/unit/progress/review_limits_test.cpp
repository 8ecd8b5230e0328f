#include "progress/review_limits.hpp"

#include <catch2/catch.hpp>

#include "support/printers.hpp"

using progress::ReviewLimits;
using namespace std::chrono_literals;

namespace {

constexpr kube::SteadyTime start = kube::SteadyTime(1000h);

// Returns how many of these requests per second are granted, each at its time.
struct Counted {
    int granted = 0;
    std::chrono::milliseconds latest{0};  // how long a granted one waits at most
};

template <class Address>
Counted ask(ReviewLimits& limits, int per_second, std::chrono::seconds time, bool known,
            const Address& address, bool accepted = true) {
    Counted counted;
    const int count = per_second * int(time.count());
    for (int i = 0; i < count; ++i) {
        const auto now = start + std::chrono::microseconds(1'000'000) * i / per_second;
        const auto when = limits.reserve(address(i), known, now);
        if (!when) continue;
        ++counted.granted;
        counted.latest = std::max(counted.latest, std::chrono::ceil<std::chrono::milliseconds>(*when - now));
        limits.answered(address(i), accepted);
    }
    return counted;
}

std::string many(int i) {
    return "10." + std::to_string(i / 65536) + "." + std::to_string(i / 256 % 256) + "." +
           std::to_string(i % 256);
}
std::string one(int) { return "10.0.0.1"; }

}  // namespace

TEST_CASE("TokenReviews have a rate, half of which is for known tokens", "[limits]") {
    ReviewLimits limits(true);
    const Counted unknown = ask(limits, 2000, 10s, false, many);
    CHECK(unknown.granted <= 10 * 100 + 10 + 200);  // and the requests in line
    CHECK(unknown.granted >= 1000);
    CHECK(unknown.latest <= 2s);
    ReviewLimits both(true);
    int known = 0, others = 0;
    for (int i = 0; i < 20'000; ++i) {
        const auto now = start + std::chrono::microseconds(500) * i;
        others += both.reserve(many(i), false, now) ? 1 : 0;
        if (i % 20 == 0) known += both.reserve(many(i), true, now) ? 1 : 0;
    }
    CHECK(known >= 950);  // of a hundred a second for ten seconds
    CHECK(known + others <= 10 * 200 + 20 + 400);
}

TEST_CASE("one address has a rate of its own for unknown tokens", "[limits]") {
    ReviewLimits limits(true);
    CHECK(ask(limits, 100, 10s, false, one).granted <= 10 * 10 + 10 + 20);
    CHECK(limits.reserve("10.0.0.2", false, start + 10s) == start + 10s);
    ReviewLimits free(false);
    CHECK(ask(free, 100, 10s, false, one).granted == 1000);
}

TEST_CASE("known tokens do not count for their address", "[limits]") {
    ReviewLimits limits(true);
    CHECK(ask(limits, 100, 10s, true, one).granted == 1000);
}

TEST_CASE("after five refusals in a row an address has one TokenReview per ten seconds", "[limits]") {
    ReviewLimits limits(true);
    CHECK(ask(limits, 2, 100s, false, one, false).granted <= 5 + 11);
    // A valid token ends it.
    const auto later = start + 200s;
    REQUIRE(limits.reserve(one(0), false, later));
    CHECK(!limits.reserve(one(0), false, later));
    limits.answered(one(0), true);
    for (int i = 0; i < 5; ++i) CHECK(limits.reserve(one(0), false, later) == later);
}
