#include <catch2/catch.hpp>

#include "plans.hpp"
#include "seeds.hpp"

namespace model {
namespace {

void expect_right(const std::string& name, const std::vector<std::string>& wrong, const World& world) {
    if (wrong.empty()) return;
    std::string text = name + "\n";
    for (const auto& line : wrong) text += line + "\n";
    for (const auto& line : world.log) text += "    " + line + "\n";
    FAIL_CHECK(text);
}

}  // namespace

// With sanitizers, only few of the plans: a run takes a hundred times as long as in the release build. There,
// model.plans tries more, and scripts/soak all.
TEST_CASE("a scenario ends as it should if nothing fails, and whatever fails, once, at any moment") {
    constexpr std::size_t stride = 1009;
    std::size_t planned = 0;
    int tried = 0, happened = 0;
    for (const Scenario& scenario : scenarios()) {
        World recorded;
        expect_right(scenario.name, run(scenario, recorded), recorded);
        for (const Fault& fault : plans(recorded)) {
            if (planned++ % stride != 0) continue;
            World world(fault);
            expect_right(scenario.name + ": " + fault.name(), run(scenario, world), world);
            ++tried;
            happened += world.happened();
        }
    }
    CHECK(tried >= 40);
    // A watch may stand still while there is no work.
    CHECK(happened >= tried * 3 / 4);
}

TEST_CASE("a scenario ends as it should whatever chance does to it") {
    for (std::uint64_t seed = 1; seed <= 15; ++seed) {
        const auto world = world_of(seed);
        const std::string name = "seed " + std::to_string(seed) + ", " + scenario_of(seed).name;
        expect_right(name, run(scenario_of(seed), *world), *world);
    }
}

TEST_CASE("a seed gives the same run again, to the last write") {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const auto first = world_of(seed);
        const auto second = world_of(seed);
        run(scenario_of(seed), *first);
        run(scenario_of(seed), *second);
        CHECK(first->log == second->log);
        CHECK(first->api.version() == second->api.version());
    }
}

}  // namespace model
