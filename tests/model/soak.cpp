// The harness at length: all plans, or seeds, or one of them with its log. See scripts/soak.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>

#include "plans.hpp"
#include "seeds.hpp"

namespace {

using namespace model;

int tried = 0, failed = 0;

void report(const std::string& name, const std::vector<std::string>& wrong, const World& world, bool tell) {
    ++tried;
    if (wrong.empty() && !tell) return;
    failed += !wrong.empty();
    std::cout << (wrong.empty() ? "as it should: " : "WRONG: ") << name << "\n";
    for (const auto& line : wrong) std::cout << "  " << line << "\n";
    if (!tell) return;
    for (const auto& line : world.log) std::cout << "    " << line << "\n";
    std::cout << "  " << summary(world.api, {"ns", "job"}) << "\n";
}

void run_plan(const Scenario& scenario, const Fault& fault, bool tell) {
    World world(fault);
    const auto wrong = run(scenario, world);
    report(scenario.name + ": " + fault.name(), wrong, world, tell);
}

// Runs every scenario without faults, and every `stride`th of all plans.
void run_plans(const std::string& only, bool tell, std::uint64_t stride = 1) {
    std::uint64_t planned = 0;
    for (const Scenario& scenario : scenarios()) {
        World recorded;
        const auto unharmed = run(scenario, recorded);
        if (scenario.name.find(only) == 0) report(scenario.name, unharmed, recorded, tell);
        for (const Fault& fault : plans(recorded)) {
            const std::string name = scenario.name + ": " + fault.name();
            if (!only.empty() && name.find(only) == std::string::npos) continue;
            if (planned++ % stride == 0) run_plan(scenario, fault, tell);
        }
    }
}

void run_seed(std::uint64_t seed, bool tell) {
    const auto world = world_of(seed);
    const Scenario& scenario = scenario_of(seed);
    report("seed " + std::to_string(seed) + ": " + scenario.name, run(scenario, *world), *world, tell);
}

void run_seeds(std::uint64_t first, std::uint64_t count, bool tell) {
    for (std::uint64_t seed = first; seed < first + count && failed < 20; ++seed) run_seed(seed, tell);
}

// Runs what `report` has printed under that name, if it still exists: a scenario, one of its plans, or a
// seed.
void run_named(const std::string& name) {
    if (name.starts_with("seed ")) return run_seed(std::strtoull(name.c_str() + 5, nullptr, 10), false);
    for (const Scenario& scenario : scenarios()) {
        if (!name.starts_with(scenario.name)) continue;
        World recorded;
        report(scenario.name, run(scenario, recorded), recorded, false);
        for (const Fault& fault : plans(recorded))
            if (failed == 0 && scenario.name + ": " + fault.name() == name) run_plan(scenario, fault, false);
    }
}

// Stops at the first failure: what is named `first`, every scenario without faults, then all plans and seeds
// in random order, since failures are clustered. The plans of the scenario of `first` come before the others:
// the numbers in its name change with the sources.
void find(std::uint64_t seeds, const std::string& first) {
    if (!first.empty()) run_named(first);
    if (failed > 0) return;
    std::vector<std::pair<const Scenario*, Fault>> all;
    for (const Scenario& scenario : scenarios()) {
        World recorded;
        report(scenario.name, run(scenario, recorded), recorded, false);
        if (failed > 0) return;
        for (Fault& fault : plans(recorded)) all.emplace_back(&scenario, std::move(fault));
    }
    std::shuffle(all.begin(), all.end(), std::mt19937_64(1));
    std::stable_partition(all.begin(), all.end(), [&](const auto& plan) {
        return first.find(plan.first->name) != std::string::npos;
    });
    std::uint64_t seed = 0;
    for (std::size_t i = 0; i < all.size() && failed == 0; ++i) {
        const auto& [scenario, fault] = all[i];
        run_plan(*scenario, fault, false);
        while (failed == 0 && seed * all.size() < seeds * (i + 1)) run_seed(++seed, false);
    }
}

}  // namespace

int main(int count, char** words) {
    const std::string what = count > 1 ? words[1] : "";
    const auto number = [&](int at, std::uint64_t otherwise) {
        return count > at ? std::strtoull(words[at], nullptr, 10) : otherwise;
    };
    const auto start = std::chrono::steady_clock::now();
    if (what == "plans")
        run_plans(count > 2 ? words[2] : "", count > 2);
    else if (what == "some") {
        run_plans("", false, std::max<std::uint64_t>(1, number(2, 50)));
        run_seeds(1, number(3, 1000), false);
    } else if (what == "seeds")
        run_seeds(number(2, 1), number(3, 1000), false);
    else if (what == "seed")
        run_seeds(number(2, 1), 1, true);
    else if (what == "find")
        find(number(2, 2000), count > 3 ? words[3] : "");
    else
        std::cout << "fault_soak plans [part of a name] | some STRIDE SEEDS | seeds FIRST COUNT | seed "
                     "NUMBER | find SEEDS [NAME OF THE FIRST]\n";
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::cout << tried << " runs, " << failed << " wrong, "
              << static_cast<int>(tried / std::max(seconds, 1e-9)) << " a second\n";
    return failed > 0 ? 1 : 0;
}
