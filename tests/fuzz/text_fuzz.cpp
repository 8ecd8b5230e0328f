// Text of others on a terminal and in the log of a CI. The first byte is the width in columns; the lines of
// the rest are the cells of a table, the output of a program, and one text each.
#include <algorithm>

#include "api/yaml.hpp"
#include "cost.hpp"
#include "input.hpp"
#include "shown.hpp"
#include "text/terminal.hpp"

namespace {

using namespace cli;

constexpr std::size_t cells_in_a_row = 3;

void check_text(std::string_view raw) {
    const Text text(raw);
    MUST_HOLD(is_harmless(text.str()));
    MUST_HOLD(Text(text.str()) == text);
    MUST_HOLD(without_colours(Text::painted(raw, Tone::bad, Colours::yes).str()) == text.str());
    MUST_HOLD(Text::line(raw).str() == text.str() + "\n");
}

// Of a program's output tabs stay, and colours if they are wanted.
void check_output(std::string_view raw) {
    for (const Colours colours : {Colours::no, Colours::yes}) {
        std::string shown = Text::output(raw, colours).str();
        MUST_HOLD(shown.ends_with('\n'));
        shown.pop_back();
        if (colours == Colours::yes) {
            // No colour reaches the next line.
            const bool coloured = shown.find('\x1b') != shown.npos;
            MUST_HOLD(!coloured || shown.ends_with("\x1b[0m"));
            shown = without_colours(shown);
        } else {
            MUST_HOLD(api::find_ci_command(shown) == shown.npos);
        }
        std::erase(shown, '\t');
        MUST_HOLD(shown.find('\x1b') == shown.npos);
        std::string_view rest = shown;
        while (!rest.empty()) {
            const char32_t c = api::take_character(rest);
            MUST_HOLD(!api::is_control(c) && !api::is_bidi_control(c) && !api::is_separator(c));
        }
    }
}

void check_table(const std::vector<std::string_view>& lines, std::size_t width) {
    const std::vector<std::string> heading = {"NAME", "STATE", "MESSAGE"};
    std::vector<std::vector<Cell>> rows;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (i % cells_in_a_row == 0) rows.push_back(std::vector<Cell>(cells_in_a_row));
        rows.back()[i % cells_in_a_row] = {.text = std::string(lines[i]), .tone = static_cast<Tone>(i % 5)};
    }
    for (const Colours colours : {Colours::no, Colours::yes}) {
        const Text shown = table(heading, rows, colours, width);
        std::string plain = shown.str();
        if (colours == Colours::yes) plain = without_colours(plain);
        MUST_HOLD(is_harmless(plain, true));
        MUST_HOLD(std::ranges::count(plain, '\n') == static_cast<std::ptrdiff_t>(rows.size() + 1));
        std::string_view rest = plain;
        while (width > 0 && !rest.empty()) {
            const std::string_view line = rest.substr(0, rest.find('\n'));
            MUST_HOLD(width_of(line) <= width);
            rest.remove_prefix(line.size() + 1);
        }
        // A screen of that size: a line for each row, and none is longer.
        const Terminal screen = {.is_terminal = true, .colours = colours, .columns = width, .lines = 8};
        const std::string drawn = frame(shown, screen).str();
        MUST_HOLD(std::ranges::count(drawn, '\n') <= 7);
    }
}

void check_width(std::string_view text, std::size_t width) {
    const std::string part = cut(text, width);
    MUST_HOLD(width_of(part) <= width);
    MUST_HOLD(part == text || width == 0 || part.ends_with("…"));
    MUST_HOLD(width_of(padded(part, width)) == width);
}

void check_documents(std::string_view text) {
    const auto value = api::parse_json(text);
    if (!value) return;
    const Text json = Text::json(*value);
    MUST_HOLD(is_harmless(json.str(), true));
    const auto read = api::parse_json(json.str());
    MUST_HOLD(read.has_value());
    // What is no character reads as U+FFFD, and from then on as the same.
    MUST_HOLD(Text::json(*read) == json);
}

void run(const std::uint8_t* data, std::size_t size) {
    const std::string_view raw = text_of(data, size).substr(1);
    const std::size_t width = data[0];
    const auto lines = parts_of(raw, 1 + static_cast<std::size_t>(std::ranges::count(raw, '\n')));
    check_text(raw);
    for (const std::string_view line : lines) {
        check_output(line);
        check_width(Text(line).str(), width);
    }
    check_table(lines, width);
    check_documents(raw);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    // An empty line is one byte here, and a cell of up to 85 columns in each table and in each look at it.
    return at_cost({.bytes_per_byte = 2000, .nanoseconds_per_byte = 300000}, size, [&] { run(data, size); });
}
