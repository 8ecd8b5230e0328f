#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace cli {

/// Returns how many columns a terminal needs for a UTF-8 text without control characters: two for wide
/// characters (East Asian Width W and F), none for combining ones. A byte that is no UTF-8 takes one.
std::size_t width_of(std::string_view text);

/// Returns the beginning of the text that fits into that many columns; if something is cut off, its last
/// column is "…".
std::string cut(std::string_view text, std::size_t columns);

/// Returns the text with spaces behind it up to that many columns.
std::string padded(std::string text, std::size_t columns);

}  // namespace cli
