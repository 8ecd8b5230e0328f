#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/process/options.hpp"

namespace cli {

struct Example {
    const char* command;  ///< without "kubectl trainjob "
    const char* about;
};

/// A command of `kubectl trainjob`.
struct Command {
    std::string_view name;
    const char* argument;  ///< placeholder of its positional arguments; empty: none
    const char* about;     ///< a line for the list of commands
    const char* help;
    std::span<const Example> examples;
    int (*run)(net::Options& options, int argc, const char* const* argv);
    std::vector<net::Options::Described> (*options)();
};

/// Returns the command of that name; nullptr if there is none.
const Command* find_command(std::span<const Command> commands, std::string_view name);

/// Returns the words of a command line with the command in front of the options that precede it: users of
/// kubectl write `-n team list`. `help list` becomes `list --help`. Without a command they stay as they are.
std::vector<std::string> command_first(std::vector<std::string> words, std::span<const Command> commands);

}  // namespace cli
