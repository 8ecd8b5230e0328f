#pragma once
#include <cstddef>
#include <string>

namespace cli {

/// The characters that the terminal can show.
enum class Glyphs { ascii, unicode };

/// Returns a bar of `columns` characters, of which the part between `begin` and `end` (0 to 1) is filled. A
/// part that is not empty fills one character at least.
std::string bar(double begin, double end, std::size_t columns, Glyphs glyphs);

}  // namespace cli
