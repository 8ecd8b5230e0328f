#pragma once
#include <functional>

#include "net/options.hpp"

namespace net {

/// The body of a main(): reads the options, then runs `body`. Returns the exit status: 0 after a good end,
/// --help or --version; 2 on bad usage; 1 when `body` fails or throws. Errors become one line on stderr:
/// "program: what is wrong: how to mend it". SIGTERM and SIGINT wait from its beginning on for the Signals
/// of `body`.
int run_main(Options& options, int argc, const char* const* argv,
             const std::function<api::Result<>()>& body) noexcept;

/// What a command has to say, and how it ends.
struct Output {
    std::string out = {};  ///< for stdout; whole lines, like `err`
    std::string err = {};
    int status = 0;
};

/// The same for a program that reads, says something and ends: `argv` begins with its name. Returns the
/// status of the output; 2 on bad usage and when `body` fails, for input that cannot be read; 1 when it
/// throws or the output cannot be written.
int run_command(Options& options, int argc, const char* const* argv,
                const std::function<api::Result<Output>()>& body) noexcept;

}  // namespace net
