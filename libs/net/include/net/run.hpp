#pragma once
#include <functional>

#include "net/options.hpp"

namespace net {

/// The body of a main(): reads the options, then runs `body`. Returns the exit status: 0 after a good end,
/// --help or --version; 2 on bad usage; 1 when `body` fails or throws. Errors become one line on stderr:
/// "program: what is wrong: how to mend it".
int run_main(Options& options, int argc, const char* const* argv,
             const std::function<api::Result<>()>& body) noexcept;

}  // namespace net
