#pragma once
#include <string_view>

namespace runtime {

/// Returns whether a signal to a POSIX shell that runs the script with `-c` reaches none of the programs that
/// the script starts: it handles SIGTERM by no trap, and the last program does not replace the shell (`exec`
/// outside of a subshell). False if that depends on another script, or if the text cannot be read. A guess,
/// for a warning: nothing is expanded.
bool keeps_signals(std::string_view script);

}  // namespace runtime
