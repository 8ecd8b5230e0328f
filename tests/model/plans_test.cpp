#include <algorithm>
#include <catch2/catch.hpp>

#include "plans.hpp"
#include "seeds.hpp"

namespace faults {
namespace {

std::string told(const std::vector<std::string>& wrong, const World& world) {
    std::string text;
    for (const auto& line : wrong) text += line + "\n";
    for (const auto& line : world.log) text += "    " + line + "\n";
    return text;
}

}  // namespace

TEST_CASE("every scenario ends as it should if nothing fails") {
    for (const Scenario& scenario : scenarios()) {
        World world;
        const auto wrong = run(scenario, world);
        INFO(scenario.name << "\n" << told(wrong, world));
        CHECK(wrong.empty());
    }
}

// All of them are tried by scripts/soak; here, with sanitizers, a part.
TEST_CASE("a scenario ends as it should whatever fails, once, at any moment") {
    constexpr std::size_t stride = 61;
    std::size_t planned = 0;
    int tried = 0, happened = 0;
    for (const Scenario& scenario : scenarios()) {
        World recorded;
        run(scenario, recorded);
        for (const Fault& fault : plans(recorded)) {
            if (planned++ % stride != 0) continue;
            World world(fault);
            const auto wrong = run(scenario, world);
            ++tried;
            happened += world.happened();
            if (!wrong.empty())
                FAIL_CHECK(scenario.name << ": " << fault.name() << "\n" << told(wrong, world));
        }
    }
    CHECK(tried >= 600);
    // A watch may stand still while nobody wants to do anything.
    CHECK(happened >= tried * 3 / 4);
}

TEST_CASE("a scenario ends as it should whatever chance does to it") {
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        const auto world = world_of(seed);
        const auto wrong = run(scenario_of(seed), *world);
        if (!wrong.empty())
            FAIL_CHECK("seed " << seed << ", " << scenario_of(seed).name << "\n" << told(wrong, *world));
    }
}

TEST_CASE("a seed gives the same run again, to the last write") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const auto first = world_of(seed);
        const auto second = world_of(seed);
        run(scenario_of(seed), *first);
        run(scenario_of(seed), *second);
        CHECK(first->log == second->log);
        CHECK(first->api.version() == second->api.version());
    }
}

}  // namespace faults
