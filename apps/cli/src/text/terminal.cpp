#include "text/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "api/text.hpp"
#include "text/width.hpp"

namespace cli {
namespace {

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

std::string frame(const std::string& text, const Terminal& terminal) {
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        lines.push_back(text.substr(begin, end - begin));
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
    std::string out = "\x1b[?2026h\x1b[?25l\x1b[H";
    for (const std::string& line : lines)
        out += (terminal.columns > 0 ? cut_line(line, terminal.columns) : line) + "\x1b[K\n";
    return out + "\x1b[J\x1b[?25h\x1b[?2026l";
}

bool print(std::string_view text) {
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

}  // namespace cli
