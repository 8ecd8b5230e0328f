#pragma once
#include <cstddef>
#include <string>

#include "api/error.hpp"

namespace net {

/// Reads the whole file. Fails with `not_found`, `forbidden` or `invalid` (a directory, or more than
/// `max_bytes`). The error text names the file.
api::Result<std::string> read_file(const std::string& path, std::size_t max_bytes = 16 * 1024 * 1024);

/// Reads standard input to its end. Fails with `invalid` if it has more than `max_bytes`.
api::Result<std::string> read_standard_input(std::size_t max_bytes = 16 * 1024 * 1024);

}  // namespace net
