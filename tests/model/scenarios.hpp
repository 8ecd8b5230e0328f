#pragma once
#include <functional>
#include <string>
#include <vector>

#include "world.hpp"

namespace faults {

/// What people and other controllers do, when, and where it may end.
struct Scenario {
    struct Step {
        std::chrono::milliseconds at;
        std::function<void(World&)> act;
    };
    std::string name;
    std::vector<Step> steps;
    /// summary() of each end that is right; the first is that of a run without faults.
    std::vector<std::string> ends;
    /// Events that a run without faults stores: these, and no others.
    std::vector<std::string> events = {};
    std::chrono::seconds length{600};
    /// Further facts about the end; empty if all is well.
    std::function<std::string(const World&)> check = {};
    /// The same, where nothing fails.
    std::function<std::string(const World&)> when_unharmed = {};
    /// `Created` may be False at times though neither `events` nor `ends` say so.
    bool may_be_refused = false;
    /// Reconcilers start then; what was there before is somebody else's work.
    std::chrono::seconds served_from{0};
};

const std::vector<Scenario>& scenarios();

/// Runs it; what was wrong, one line each: complaints, another end, writes once it had settled.
std::vector<std::string> run(const Scenario& scenario, World& world);

}  // namespace faults
