#pragma once
#include <functional>

#include "net/process/options.hpp"

namespace net {

/// The body of a main(): reads the options, then runs `body`. Returns the exit status: 0 after success,
/// --help or --version; 2 on bad usage; 1 if `body` fails or throws. Prints an error as one line to stderr:
/// "program: what is wrong: how to fix it". Blocks SIGTERM and SIGINT from its start until `body` makes its
/// Signals.
int run_main(Options& options, int argc, const char* const* argv,
             const std::function<api::Result<>()>& body) noexcept;

/// The output and the exit status of a command.
struct Output {
    std::string out = {};  ///< for stdout; whole lines, as in `err`
    std::string err = {};
    int status = 0;
};

/// The same for a command that prints its output and exits. `argv` begins with the command's name. Returns
/// the status of the output; 2 on bad usage and if `body` fails because its input cannot be read; 1 if `body`
/// throws or the output cannot be written.
int run_command(Options& options, int argc, const char* const* argv,
                const std::function<api::Result<Output>()>& body) noexcept;

}  // namespace net
