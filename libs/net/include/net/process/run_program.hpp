#pragma once
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "api/error.hpp"

namespace net {

struct Program {
    std::string command = {};  ///< a path if it contains a slash; otherwise a name to be found on the PATH
    std::vector<std::string> arguments = {};
    /// Added to the variables of this process; replaces those of the same name. Of two with the same name the
    /// last counts.
    std::vector<std::pair<std::string, std::string>> environment = {};
    bool shares_stdin = false;  ///< false: its standard input is empty
    std::chrono::milliseconds time_limit{60'000};
    std::size_t most_output = 1024 * 1024;  ///< bytes
};

struct ProgramResult {
    int status = 0;  ///< as shells report it: the exit status, or 128 plus the number of the signal
    std::string output = {};
};

/// Runs a program until it ends and returns its standard output; its standard error is that of this process.
/// Blocks the thread. Processes that it started and left behind go on; the function does not wait for them.
/// Fails with `not_found` if there is no such command, `forbidden` if it may not be executed, `too_large`
/// beyond `most_output` and `unavailable` beyond `time_limit`. Then it ends the program with SIGTERM, and two
/// seconds later with SIGKILL. Errors complete a sentence that begins with the program's name. Thread rule:
/// any thread, but no other thread may wait for all children.
api::Result<ProgramResult> run_program(const Program& program);

}  // namespace net
