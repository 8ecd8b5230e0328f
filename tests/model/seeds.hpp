#pragma once
#include <memory>

#include "scenarios.hpp"

namespace model {

/// Returns the scenario of a random run: every request, answer, event and controller takes its own time;
/// requests fail, answers are lost, histories expire, processes die; sometimes two of them lead, or one of
/// two is elected, or their clocks are wrong. The seed determines all of it.
const Scenario& scenario_of(std::uint64_t seed);
std::unique_ptr<World> world_of(std::uint64_t seed);

}  // namespace model
