#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "text/bar.hpp"
#include "text/tone.hpp"

namespace cli {

/// What standard output can show.
struct Terminal {
    bool is_terminal = false;
    Colours colours = Colours::no;  ///< on a terminal, unless $NO_COLOR is set or $TERM is dumb
    Glyphs glyphs = Glyphs::ascii;  ///< unicode in a locale with UTF-8
    std::size_t columns = 0;        ///< 0: not limited
    std::size_t lines = 0;          ///< 0: not limited
};

using ReadVariable = std::function<std::string(const char* name)>;

/// Returns what a terminal of this size can show by these variables of the environment; `is_terminal` false:
/// a pipe or a file. $COLUMNS and $LINES count where the terminal says 0.
Terminal terminal_of(bool is_terminal, std::size_t columns, std::size_t lines, const ReadVariable& variable);

/// The same for standard output now.
Terminal terminal();

/// Returns the bytes that replace what a terminal shows by `text`, without an empty screen in between. What
/// does not fit on it is left out.
std::string frame(const std::string& text, const Terminal& terminal);

/// Writes to standard output at once. Returns false if that fails, as when the reader of a pipe has gone.
bool print(std::string_view text);

}  // namespace cli
