#pragma once
#include <functional>
#include <string>
#include <vector>

#include "world.hpp"

namespace model {

/// Actions of users and other controllers with their times, and the right ends.
struct Scenario {
    struct Step {
        std::chrono::milliseconds at;
        std::function<void(World&)> act;
    };
    std::string name;
    /// Those after `length` are taken only under random faults, for which the run is longer.
    std::vector<Step> steps;
    /// summary() of each right end; the first is that of a run without faults.
    std::vector<std::string> ends;
    /// Events that a run without faults stores: exactly these.
    std::vector<std::string> events = {};
    std::chrono::seconds length{600};
    /// Further checks of the end; empty if all hold.
    std::function<std::string(const World&)> check = {};
    /// The same, if nothing fails.
    std::function<std::string(const World&)> when_unharmed = {};
    /// `Created` may be False at times although neither `events` nor `ends` have it.
    bool may_be_refused = false;
    /// Reconcilers start at that time; earlier objects are the work of other controllers.
    std::chrono::seconds served_from{0};
};

const std::vector<Scenario>& scenarios();

/// Runs it. Returns the errors, one per line: complaints, a wrong end, writes after it had settled.
std::vector<std::string> run(const Scenario& scenario, World& world);

}  // namespace model
