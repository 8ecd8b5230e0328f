#include "text/table.hpp"

#include <algorithm>

#include "text/width.hpp"

namespace cli {
namespace {

constexpr std::size_t gap = 3;

// Returns the part of a row that fits into `left` columns; 0: no limit.
void append_line(std::string& out, const std::vector<Cell>& cells, const std::vector<std::size_t>& widths,
                 Colours colours, std::size_t left) {
    const bool limited = left > 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        std::string text = cells[i].text;
        const bool last = i + 1 == cells.size();
        if (limited) text = cut(text, left);
        const std::size_t taken = width_of(text);
        out += painted(text, cells[i].tone, colours);
        if (last) break;
        const std::size_t column = widths[i] + gap;
        if (limited && left <= column) break;
        out.append(column - taken, ' ');
        left -= limited ? column : 0;
    }
    out += '\n';
}

}  // namespace

std::string table(const std::vector<std::string>& heading, std::vector<std::vector<Cell>> rows,
                  Colours colours, std::size_t width) {
    std::vector<Cell> titles;
    for (const std::string& title : heading) titles.push_back({title, Tone::faint});
    std::vector<std::size_t> widths(heading.size());
    for (std::size_t i = 0; i < heading.size(); ++i) widths[i] = width_of(heading[i]);
    for (std::vector<Cell>& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) {
            row[i].text = row[i].text.empty() ? "-" : harmless(row[i].text);
            widths[i] = std::max(widths[i], width_of(row[i].text));
        }
    std::string out;
    append_line(out, titles, widths, colours, width);
    for (const std::vector<Cell>& row : rows) append_line(out, row, widths, colours, width);
    return out;
}

}  // namespace cli
