#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/process/options.hpp"
#include "net/process/run_main.hpp"

namespace cli {

struct Example {
    const char* command;  ///< without "kubectl trainjob "
    const char* about;
};

/// A command of `kubectl trainjob`.
struct Command {
    std::string_view name;
    const char* argument = "";  ///< placeholder of its positional arguments; empty: none
    const char* about;          ///< a line for the list of commands
    const char* help;
    std::span<const Example> examples;
    int (*run)(net::Options& options, int argc, const char* const* argv);
    std::vector<net::Options::Described> (*options)();
};

/// Command::run of a command: reads its options by add_options(), and calls its function.
template <class Settings, api::Result<net::Output> (*body)(const Settings&)>
int run_with(net::Options& options, int argc, const char* const* argv) {
    Settings settings;
    add_options(options, settings);
    return net::run_command(options, argc, argv, [&] { return body(settings); });
}

/// Command::options of a command with these settings.
template <class Settings>
std::vector<net::Options::Described> options_of() {
    Settings settings;
    net::Options options("", "", "");
    add_options(options, settings);
    return options.described();
}

/// Returns the command of that name; nullptr if there is none.
const Command* find_command(std::span<const Command> commands, std::string_view name);

/// Returns the words of a command line with the command in front of the options that precede it: users of
/// kubectl write `-n team list`. `help list` becomes `list --help`. Without a command they stay as they are.
std::vector<std::string> command_first(std::vector<std::string> words, std::span<const Command> commands);

}  // namespace cli
