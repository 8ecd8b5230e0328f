#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/process/options.hpp"
#include "text/text.hpp"

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

/// Reads the options, runs `body` and writes its output. `argv` begins with the command's name. Returns the
/// status of the output; 2 on bad usage and if `body` fails because its input cannot be read, with an error
/// as one line on stderr: "program: what is wrong: how to fix it"; 1 if `body` throws or the output cannot be
/// written.
int run_command(net::Options& options, int argc, const char* const* argv,
                const std::function<api::Result<Output>()>& body) noexcept;

/// Command::run of a command: reads its options by add_options(), and calls its function.
template <class Settings, api::Result<Output> (*body)(const Settings&)>
int run_with(net::Options& options, int argc, const char* const* argv) {
    Settings settings;
    add_options(options, settings);
    return run_command(options, argc, argv, [&] { return body(settings); });
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
