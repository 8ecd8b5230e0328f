#pragma once
#include "scenarios.hpp"

namespace model {

/// Returns all faults to try on a scenario, by its run without faults: after each write a crash, each answer
/// and each request lost, each write slow or rejected, each watch frozen at each older version until each
/// write, each event dropped, and two reconcilers that both lead, also with a crash of one after each write,
/// and with one that sees nothing new for a while after each change.
std::vector<Fault> plans(const World& recorded);

}  // namespace model
