#pragma once
#include <cstddef>
#include <string>

#include "api/error.hpp"

namespace net {

/// The whole file. Fails with `not_found`, `forbidden` or `invalid` (a directory, or more than `max_bytes`);
/// the text names the file.
api::Result<std::string> read_file(const std::string& path, std::size_t max_bytes = 16 * 1024 * 1024);

/// What comes in through standard input, to its end.
api::Result<std::string> read_standard_input(std::size_t max_bytes = 16 * 1024 * 1024);

}  // namespace net
