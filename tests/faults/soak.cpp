// The harness at length: all plans, or seeds, or one of them with what happened. See scripts/soak.
#include <chrono>
#include <cstdlib>
#include <iostream>

#include "plans.hpp"
#include "seeds.hpp"

namespace {

using namespace faults;

int tried = 0, failed = 0;

void judge(const std::string& name, const std::vector<std::string>& wrong, const World& world, bool tell) {
    ++tried;
    if (wrong.empty() && !tell) return;
    failed += !wrong.empty();
    std::cout << (wrong.empty() ? "as it should: " : "WRONG: ") << name << "\n";
    for (const auto& line : wrong) std::cout << "  " << line << "\n";
    if (!tell) return;
    for (const auto& line : world.log) std::cout << "    " << line << "\n";
    std::cout << "  " << summary(world.api, {"ns", "job"}) << "\n";
}

bool found(bool to_first) { return to_first && failed > 0; }

// Those of every scenario whose numbers leave `rest` when divided by `stride`; up to the first that goes
// wrong if that is enough.
void run_plans(const std::string& only, bool tell, std::size_t stride, std::size_t rest, bool to_first) {
    std::size_t planned = 0;
    for (const Scenario& scenario : scenarios()) {
        World recorded;
        const auto unharmed = run(scenario, recorded);
        if (rest == 0 && scenario.name.find(only) == 0) judge(scenario.name, unharmed, recorded, tell);
        for (const Fault& fault : plans(recorded)) {
            const std::string name = scenario.name + ": " + fault.name();
            if (planned++ % stride != rest || found(to_first)) continue;
            if (!only.empty() && name.find(only) == std::string::npos) continue;
            World world(fault);
            const auto wrong = run(scenario, world);
            judge(name, wrong, world, tell);
        }
        if (found(to_first)) return;
    }
}

void run_seeds(std::uint64_t first, std::uint64_t count, bool tell, int enough = 20) {
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        const auto world = world_of(seed);
        const Scenario& scenario = scenario_of(seed);
        judge("seed " + std::to_string(seed) + ": " + scenario.name, run(scenario, *world), *world, tell);
        if (failed >= enough) return;
    }
}

// A few of everything first, then the rest: what is broken shows in many places.
void find(std::size_t stride, std::uint64_t seeds) {
    for (std::size_t rest = 0; rest < stride && failed == 0; ++rest) {
        run_plans("", false, stride, rest, true);
        if (failed == 0) run_seeds(1 + rest * seeds / stride, seeds / stride, false, 1);
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
        run_plans(count > 2 ? words[2] : "", count > 2, 1, 0, false);
    else if (what == "seeds")
        run_seeds(number(2, 1), number(3, 1000), false);
    else if (what == "seed")
        run_seeds(number(2, 1), 1, true);
    else if (what == "find")
        find(number(2, 7), number(3, 2000));
    else
        std::cout
            << "fault_soak plans [part of a name] | seeds FIRST COUNT | seed NUMBER | find STRIDE SEEDS\n";
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::cout << tried << " runs, " << failed << " wrong, "
              << static_cast<int>(tried / std::max(seconds, 1e-9)) << " a second\n";
    return failed > 0 ? 1 : 0;
}
