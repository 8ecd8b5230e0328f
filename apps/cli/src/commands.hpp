#pragma once
#include <span>

#include "command/command.hpp"

namespace cli {

/// All commands, sorted by name.
std::span<const Command> commands();

}  // namespace cli
