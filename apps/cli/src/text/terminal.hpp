#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "text/bar.hpp"
#include "text/tone.hpp"

namespace cli {

/// The properties of standard output.
struct Terminal {
    bool is_terminal = false;
    Colours colours = Colours::no;  ///< on a terminal, unless $NO_COLOR is set or $TERM is dumb
    Glyphs glyphs = Glyphs::ascii;  ///< unicode in a locale with UTF-8
    std::size_t columns = 0;        ///< 0: no limit
    std::size_t lines = 0;          ///< 0: no limit
};

using ReadVariable = std::function<std::string(const char* name)>;

/// Returns the properties of a terminal of this size with these environment variables; `is_terminal` false: a
/// pipe or a file. $COLUMNS and $LINES count if the size is 0.
Terminal terminal_of(bool is_terminal, std::size_t columns, std::size_t lines, const ReadVariable& variable);

/// Returns the properties of the present standard output.
Terminal terminal();

/// Returns the bytes that replace the content of a terminal by `text`, without an empty screen in between.
/// Says how many lines do not fit.
std::string frame(const std::string& text, const Terminal& terminal);

/// Writes to standard output at once. Returns false if that fails, for example because the reader of a pipe
/// has ended.
bool print(std::string_view text);

}  // namespace cli
