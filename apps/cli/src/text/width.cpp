#include "text/width.hpp"

#include <algorithm>
#include <iterator>

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

std::size_t width_of(char32_t code) { return has(none, code) ? 0 : has(two, code) ? 2 : 1; }

// An invalid byte is printed as one character.
std::size_t take_width(std::string_view& text) {
    const char32_t c = api::take_character(text);
    return c == api::invalid_character ? 1 : width_of(c);
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

std::string padded(std::string text, std::size_t columns) {
    const std::size_t width = width_of(text);
    if (width < columns) text.append(columns - width, ' ');
    return text;
}

}  // namespace cli
