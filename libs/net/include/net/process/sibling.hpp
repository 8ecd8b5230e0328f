#pragma once

namespace net {

/// Replaces this process by the program of that name in the folder of this executable. `arguments` are those
/// after the program's name; they end with a null pointer. Returns only on failure, with the exit status 127,
/// after a line on stderr that names the missing file.
int execute_sibling(const char* program, const char* const* arguments) noexcept;

}  // namespace net
