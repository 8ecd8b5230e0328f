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

/// A program in the folder of this executable, and the command with which users call it.
struct Sibling {
    const char* file;
    const char* call;
};

/// For a command of `server` that has moved to the sibling: prints a note to stderr, and replaces this
/// process by the sibling. `arguments` begin with the command and end with a null pointer. Returns only on
/// failure, with the exit status 127, after a line on stderr that names the missing file.
int execute_moved_command(const char* server, const Sibling& sibling, const char* const* arguments) noexcept;

}  // namespace net
