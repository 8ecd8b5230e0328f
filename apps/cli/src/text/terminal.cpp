#include "text/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <vector>

#include "api/text.hpp"

namespace cli {
namespace {

struct Range {
    char32_t first, last;
};

// From Unicode's EastAsianWidth.txt and DerivedGeneralCategory.txt, by blocks.
constexpr Range none[] = {{0x300, 0x36F},    {0x483, 0x489},   {0x591, 0x5BD},   {0x610, 0x61A},
                          {0x64B, 0x65F},    {0x93C, 0x93C},   {0x94D, 0x94D},   {0x1AB0, 0x1AFF},
                          {0x1DC0, 0x1DFF},  {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x2064},
                          {0x20D0, 0x20FF},  {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF},
                          {0xE0100, 0xE01EF}};
constexpr Range two[] = {{0x1100, 0x115F},   {0x231A, 0x231B},   {0x23E9, 0x23EC},   {0x2614, 0x2615},
                         {0x26A1, 0x26A1},   {0x2705, 0x2705},   {0x274C, 0x274C},   {0x2753, 0x2755},
                         {0x2B50, 0x2B50},   {0x2E80, 0x303E},   {0x3041, 0x4DBF},   {0x4E00, 0xA4CF},
                         {0xA960, 0xA97C},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
                         {0xFF01, 0xFF60},   {0xFFE0, 0xFFE6},   {0x16FE0, 0x18DFF}, {0x1B000, 0x1B2FF},
                         {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1FAFF}, {0x20000, 0x3FFFD}};

template <std::size_t size>
bool has(const Range (&ranges)[size], char32_t code) {
    const auto after =
        std::upper_bound(std::begin(ranges), std::end(ranges), code,
                         [](char32_t value, const Range& range) { return value < range.first; });
    return after != std::begin(ranges) && code <= std::prev(after)->last;
}

std::size_t columns_of(char32_t code) { return has(none, code) ? 0 : has(two, code) ? 2 : 1; }

// An invalid byte is printed as one character.
std::size_t take_width(std::string_view& text) {
    const char32_t c = api::take_character(text);
    return c == api::invalid_character ? 1 : columns_of(c);
}

constexpr std::size_t gap = 3;

// Returns the part of a row that fits into `left` columns; 0: no limit.
void append_line(Text& out, const std::vector<Cell>& cells, const std::vector<std::size_t>& widths,
                 Colours colours, std::size_t left) {
    const bool limited = left > 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        std::string text = cells[i].text;
        const bool last = i + 1 == cells.size();
        if (limited) text = cut(text, left);
        const std::size_t taken = width_of(text);
        out += Text::painted(text, cells[i].tone, colours);
        if (last) break;
        const std::size_t column = widths[i] + gap;
        if (limited && left <= column) break;
        out += Text(std::string(column - taken, ' '));
        left -= limited ? column : 0;
    }
    out.end_line();
}

std::size_t number_of(const std::string& text) {
    return text.empty() || text.size() > 4 || text.find_first_not_of("0123456789") != std::string::npos
               ? 0
               : std::stoul(text);
}

bool has_utf8(const ReadVariable& variable) {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        std::string value = variable(name);
        if (value.empty()) continue;
        value = api::to_lower(value);
        return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
    }
    return false;
}

// A colour uses no column.
std::string cut_line(std::string_view line, std::size_t columns) {
    std::string out;
    std::size_t left = columns;
    while (!line.empty()) {
        if (line.front() == '\x1b') {
            const std::size_t end = std::min(line.find('m'), line.size() - 1) + 1;
            out += line.substr(0, end);
            line.remove_prefix(end);
            continue;
        }
        const std::string_view text = line.substr(0, line.find('\x1b'));
        out += cut(text, left);
        left -= std::min(left, width_of(text));
        line.remove_prefix(text.size());
    }
    return out;
}

}  // namespace

std::size_t width_of(std::string_view text) {
    std::size_t width = 0;
    while (!text.empty()) width += take_width(text);
    return width;
}

std::string cut(std::string_view text, std::size_t columns) {
    if (width_of(text) <= columns) return std::string(text);
    if (columns == 0) return "";
    std::string_view rest = text;
    std::size_t width = 0;
    for (std::string_view after = text; !after.empty(); rest = after) {
        width += take_width(after);
        if (width > columns - 1) break;
    }
    return std::string(text.substr(0, text.size() - rest.size())) + "…";
}

std::string cut_beginning(std::string_view text, std::size_t columns) {
    std::size_t width = width_of(text);
    if (width <= columns) return std::string(text);
    if (columns == 0) return "";
    while (width > columns - 1) width -= take_width(text);
    return "…" + std::string(text);
}

std::string padded(std::string text, std::size_t columns) {
    const std::size_t width = width_of(text);
    if (width < columns) text.append(columns - width, ' ');
    return text;
}

std::string bar(double begin, double end, std::size_t columns, Glyphs glyphs) {
    const auto at = [columns](double part) {
        return static_cast<std::size_t>(
            std::lround(std::clamp(part, 0.0, 1.0) * static_cast<double>(columns)));
    };
    std::size_t first = at(begin);
    std::size_t last = at(end);
    if (end > begin && last == first) last < columns ? ++last : --first;
    const bool plain = glyphs == Glyphs::ascii;
    std::string text;
    for (std::size_t i = 0; i < columns; ++i)
        text += i >= first && i < last ? (plain ? "#" : "█") : (plain ? "." : "░");
    return text;
}

Text table(const std::vector<std::string>& heading, std::vector<std::vector<Cell>> rows, Colours colours,
           std::size_t width, bool with_heading) {
    std::vector<Cell> titles;
    for (const std::string& title : heading) titles.push_back({title, Tone::faint});
    std::vector<std::size_t> widths(heading.size());
    for (std::size_t i = 0; i < heading.size(); ++i) widths[i] = width_of(heading[i]);
    for (std::vector<Cell>& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) {
            row[i].text = row[i].text.empty() ? "-" : Text(row[i].text).str();
            widths[i] = std::max(widths[i], width_of(row[i].text));
        }
    Text out;
    if (with_heading) append_line(out, titles, widths, colours, width);
    for (const std::vector<Cell>& row : rows) append_line(out, row, widths, colours, width);
    return out;
}

Terminal terminal_of(bool is_terminal, std::size_t columns, std::size_t lines, const ReadVariable& variable) {
    Terminal terminal = {.is_terminal = is_terminal};
    if (!is_terminal) return terminal;
    const bool plain = !variable("NO_COLOR").empty() || variable("TERM") == "dumb";
    terminal.colours = plain ? Colours::no : Colours::yes;
    terminal.glyphs = has_utf8(variable) ? Glyphs::unicode : Glyphs::ascii;
    terminal.columns = columns > 0 ? columns : number_of(variable("COLUMNS"));
    terminal.lines = lines > 0 ? lines : number_of(variable("LINES"));
    return terminal;
}

Terminal terminal() {
    winsize size = {};
    const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
    if (is_terminal) ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    return terminal_of(is_terminal, size.ws_col, size.ws_row, [](const char* name) {
        const char* value = std::getenv(name);
        return std::string(value ? value : "");
    });
}

Text frame(const Text& text, const Terminal& terminal, bool first) {
    const std::string& all = text.str();
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < all.size();) {
        const std::size_t end = std::min(all.find('\n', begin), all.size());
        lines.push_back(all.substr(begin, end - begin));
        begin = end + 1;
    }
    // The last line stays empty: a line break there would scroll.
    const std::size_t room = terminal.lines > 0 ? std::max<std::size_t>(terminal.lines, 2) - 1 : lines.size();
    if (lines.size() > room) {
        const std::size_t left_out = lines.size() - room + 1;
        lines.resize(room);
        lines.back() = "and " + std::to_string(left_out) + " more lines";
    }
    // A terminal that knows mode 2026 shows the frame as one; others ignore that, and do without the cursor.
    Text screen;
    std::string& out = screen.text_;
    out = std::string(first ? "\x1b[2J" : "") + "\x1b[?2026h\x1b[?25l\x1b[H";
    for (const std::string& line : lines)
        out += (terminal.columns > 0 ? cut_line(line, terminal.columns) : line) + "\x1b[K\n";
    out += "\x1b[J\x1b[?25h\x1b[?2026l";
    return screen;
}

}  // namespace cli
