#include "text/width.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace cli {
namespace {

struct Character {
    char32_t code = 0;
    std::size_t bytes = 1;
};

Character first_of(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text[0]);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (length == 1 || length == 0 || length > text.size() || lead > 0xF4)
        return {.code = lead < 0x80 ? lead : U'?'};
    char32_t code = lead & (0x7Fu >> length);
    for (std::size_t i = 1; i < length; ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if ((byte & 0xC0) != 0x80) return {.code = U'?'};
        code = (code << 6) | (byte & 0x3F);
    }
    return {.code = code, .bytes = length};
}

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

}  // namespace

std::size_t width_of(std::string_view text) {
    std::size_t width = 0;
    while (!text.empty()) {
        const Character next = first_of(text);
        width += width_of(next.code);
        text.remove_prefix(next.bytes);
    }
    return width;
}

std::string cut(std::string_view text, std::size_t columns) {
    if (width_of(text) <= columns) return std::string(text);
    if (columns == 0) return "";
    std::string_view rest = text;
    std::size_t width = 0;
    while (!rest.empty()) {
        const Character next = first_of(rest);
        if (width + width_of(next.code) > columns - 1) break;
        width += width_of(next.code);
        rest.remove_prefix(next.bytes);
    }
    return std::string(text.substr(0, text.size() - rest.size())) + "…";
}

std::string padded(std::string text, std::size_t columns) {
    const std::size_t width = width_of(text);
    if (width < columns) text.append(columns - width, ' ');
    return text;
}

}  // namespace cli
