#include "admission/rare_log.hpp"

#include <catch2/catch.hpp>

using namespace std::chrono_literals;

namespace {

constexpr kube::SteadyTime start(std::chrono::hours(1000));

}  // namespace

TEST_CASE("an event is logged once a minute at most", "[log]") {
    admission::RareEvents events;
    CHECK(events.note(start));
    CHECK_FALSE(events.note(start + 59s));
    CHECK(events.note(start + 60s));
    CHECK_FALSE(events.note(start + 119s));
}

TEST_CASE("a change is logged once a minute at most, and one that lasts after that", "[log]") {
    admission::RareTransitions transitions;
    CHECK_FALSE(transitions.note(false, start));
    CHECK(transitions.note(true, start));
    CHECK_FALSE(transitions.note(true, start + 1s));
    CHECK_FALSE(transitions.note(false, start + 2s));
    CHECK_FALSE(transitions.note(true, start + 3s));
    CHECK_FALSE(transitions.note(false, start + 4s));
    CHECK(transitions.note(false, start + 60s));
}
