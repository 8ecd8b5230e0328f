#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace cli {

/// Returns how many columns of a terminal a UTF-8 text without control characters takes: two for wide
/// characters (East Asian Width W and F), none for combining ones, one for an invalid byte.
std::size_t width_of(std::string_view text);

/// Returns the beginning of the text that fits into that many columns; if something is cut off, its last
/// column is "…".
std::string cut(std::string_view text, std::size_t columns);

/// Returns the text with spaces behind it up to that many columns.
std::string padded(std::string text, std::size_t columns);

}  // namespace cli
