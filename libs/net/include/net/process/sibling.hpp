#pragma once

namespace net {

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
