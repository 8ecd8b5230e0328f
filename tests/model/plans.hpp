#pragma once
#include "scenarios.hpp"

namespace faults {

/// Everything that is tried on a scenario, as a run without faults has gone: after each write a crash, each
/// answer and each request lost, each write slow or refused, each watch frozen at each older version until
/// each write, each event dropped, and two reconcilers that both believe they lead, also with a crash of one
/// after each write, and with one that sees nothing new for a while after each change.
std::vector<Fault> plans(const World& recorded);

}  // namespace faults
