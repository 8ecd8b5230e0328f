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

}  // namespace net
