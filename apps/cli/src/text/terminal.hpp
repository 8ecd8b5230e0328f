#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "text/text.hpp"

/// The terminal of standard output, and text for it: widths in columns, bars, tables.
namespace cli {

/// Returns how many columns of a terminal a UTF-8 text without control characters takes: two for wide
/// characters (East Asian Width W and F), none for combining ones, one for an invalid byte.
std::size_t width_of(std::string_view text);

/// Returns the beginning of the text that fits into that many columns; if something is cut off, its last
/// column is "…".
std::string cut(std::string_view text, std::size_t columns);

/// Returns the end of the text likewise: its first column is "…".
std::string cut_beginning(std::string_view text, std::size_t columns);

/// Returns the text with spaces behind it up to that many columns.
std::string padded(std::string text, std::size_t columns);

/// The characters that the terminal can show.
enum class Glyphs { ascii, unicode };

/// Returns a bar of `columns` characters, of which the part between `begin` and `end` (0 to 1) is filled. A
/// part that is not empty fills one character at least.
std::string bar(double begin, double end, std::size_t columns, Glyphs glyphs);

/// A cell of a table.
struct Cell {
    std::string text = {};
    Tone tone = Tone::plain;
};

/// Returns lines: a heading and a row for each of `rows`, in columns as wide as their widest cell, with three
/// spaces between them, as kubectl prints tables. An empty cell is "-". Nothing is behind the last cell of a
/// line. With `width` > 0, lines that are longer are cut to it.
Text table(const std::vector<std::string>& heading, std::vector<std::vector<Cell>> rows, Colours colours,
           std::size_t width = 0, bool with_heading = true);

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

/// Returns the bytes that replace the content of a terminal by `text`, without an empty screen in between
/// unless it is the first. Says how many lines do not fit.
Text frame(const Text& text, const Terminal& terminal, bool first = false);

}  // namespace cli
