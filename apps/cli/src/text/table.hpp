#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "text/tone.hpp"

namespace cli {

/// A cell of a table. Control characters of its text are replaced.
struct Cell {
    std::string text = {};
    Tone tone = Tone::plain;
};

/// Returns lines: a heading and a row for each of `rows`, in columns as wide as their widest cell, with three
/// spaces between them, as kubectl prints tables. An empty cell is "-". Nothing is behind the last cell of a
/// line. With `width` > 0, lines that are longer are cut to it.
std::string table(const std::vector<std::string>& heading, std::vector<std::vector<Cell>> rows,
                  Colours colours, std::size_t width = 0);

}  // namespace cli
