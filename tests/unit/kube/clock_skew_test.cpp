#include "kube/client/clock_skew.hpp"

#include <catch2/catch.hpp>
#include <vector>

using namespace std::chrono_literals;
using kube::ClockSkew;
using Transition = kube::ClockSkew::Transition;

namespace {

// Both clocks, of which the server's is correct, and the delays between them.
struct Clocks {
    ClockSkew skew = {};
    std::chrono::microseconds ours_ahead = 0s;
    std::chrono::milliseconds there = 0ms;
    std::chrono::milliseconds back = 0ms;
    std::chrono::microseconds passed = 0s;

    Transition ask(const char* date = nullptr) {
        const kube::MicroTime server = right + passed + there;
        passed += there + back;
        const std::string stamped = date ? date : format(server);
        return skew.note({.date = stamped,
                          .came = kube::SteadyTime(1000h) + passed,
                          .wall = right + passed + ours_ahead,
                          .round_trip = there + back});
    }
    std::vector<Transition> ask_for(std::chrono::seconds duration, std::chrono::milliseconds pause = 2300ms) {
        std::vector<Transition> reported;
        for (const auto end = passed + duration; passed < end; passed += pause)
            if (const Transition change = ask(); change != Transition::none) reported.push_back(change);
        return reported;
    }
    double estimate() const { return std::chrono::duration<double>(skew.estimate()).count(); }

    static constexpr kube::MicroTime right = std::chrono::sys_days(std::chrono::year(2026) / 11 / 23);
    static std::string format(kube::MicroTime time) {
        const std::string text = kube::format_micro_time(time);  // 2026-11-23T10:00:00.000000Z
        return "Mon, " + text.substr(8, 2) + " Nov " + text.substr(0, 4) + " " + text.substr(11, 8) + " GMT";
    }
};

}  // namespace

TEST_CASE("clocks that agree have no skew, whatever the round trip and the cut to seconds", "[kube]") {
    for (const auto there : {0ms, 10ms, 499ms})
        for (const auto back : {0ms, 10ms, 499ms}) {
            Clocks clocks = {.there = there, .back = back};
            CHECK(clocks.ask_for(300s, 1337ms).empty());
            CHECK(clocks.estimate() == 0);
        }
}

TEST_CASE("the estimate has the sign of the skew and never exceeds it", "[kube]") {
    for (const auto ahead : {1500ms, 12'300ms, 3'600'000ms, -1500ms, -12'300ms, -3'600'000ms}) {
        Clocks clocks = {.ours_ahead = ahead, .there = 20ms, .back = 30ms};
        clocks.ask();
        const double wanted = std::chrono::duration<double>(ahead).count();
        CHECK(std::abs(clocks.estimate()) <= std::abs(wanted));
        CHECK(std::abs(clocks.estimate()) >= std::abs(wanted) - 1.06);
        clocks.ask_for(300s);
        CHECK(clocks.estimate() == Approx(wanted).margin(0.2));
    }
}

TEST_CASE("a long round trip gives no estimate, and neither does an invalid date", "[kube]") {
    Clocks clocks = {.ours_ahead = 100s, .there = 1s, .back = 1ms};
    clocks.ask();
    CHECK(clocks.estimate() == 0);
    clocks.there = 10ms;
    clocks.ask();
    const double known = clocks.estimate();
    CHECK(known == Approx(99).margin(1.1));
    clocks.back = 20s;
    clocks.ask();
    clocks.back = 0ms;
    for (const char* date :
         {"", "Mon, 23 Nov 2026 00:00:00 UTC", "Mon, 23 Nov 2026 00:00:0 GMT",
          "Mon, 23 ovD 2026 00:00:00 GMT", "Mon, 23 nov 2026 00:00:00 GMT", "Mon, 32 Nov 2026 00:00:00 GMT",
          "Mon, 30 Feb 2026 00:00:00 GMT", "Monday, 23-Nov-26 00:00:00 GMT", "Mon Nov 23 00:00:00 2026      ",
          "Mon, xx Nov 2026 00:00:00 GMT"}) {
        CAPTURE(date);
        clocks.ask(date);
        CHECK(clocks.estimate() == known);
    }
}

TEST_CASE("a skew above five seconds that lasts is logged once, until it is over", "[kube]") {
    for (const auto ahead : {7s, -7s}) {
        Clocks clocks = {.ours_ahead = ahead, .there = 5ms, .back = 5ms};
        CHECK(clocks.ask_for(59s).empty());
        CHECK(clocks.ask_for(10s) == std::vector{Transition::skewed});
        CHECK(clocks.ask_for(3600s).empty());
        clocks.ours_ahead = 0s;
        CHECK(clocks.ask_for(10s) == std::vector{Transition::over});
        CHECK(clocks.ask_for(3600s).empty());
        clocks.ours_ahead = ahead;
        CHECK(clocks.ask_for(70s) == std::vector{Transition::skewed});
    }
}

TEST_CASE("a skew that does not last, or is smaller, is not reported", "[kube]") {
    Clocks clocks = {.there = 5ms, .back = 5ms};
    for (int i = 0; i < 10; ++i) {
        clocks.ours_ahead = 7s;
        CHECK(clocks.ask_for(50s).empty());
        clocks.ours_ahead = 4s;
        CHECK(clocks.ask_for(20s).empty());
    }
}

TEST_CASE("after a clock is set, the next answer gives the estimate", "[kube]") {
    Clocks clocks = {.ours_ahead = 30s, .there = 5ms, .back = 5ms};
    clocks.ask_for(90s);
    clocks.ours_ahead = -30s;
    clocks.ask();
    CHECK(clocks.estimate() == Approx(-29.5).margin(0.6));
}

TEST_CASE("the estimate of a drifting clock changes with it", "[kube]") {
    Clocks clocks = {.there = 5ms, .back = 5ms};
    for (int minute = 0; minute < 60; ++minute) {
        clocks.ours_ahead += 300ms;
        clocks.ask_for(60s);
    }
    CHECK(clocks.estimate() == Approx(18).margin(0.9));
}
