#include "api/text.hpp"

#include <cstring>

#include "api/json.hpp"

namespace api {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

bool is_surrogate(char32_t c) { return c >= 0xD800 && c <= 0xDFFF; }

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

constexpr std::uint64_t above_ascii = 0x8080808080808080;

// Returns whether any of the bytes is beyond ASCII.
template <std::size_t count>
bool has_others(const char* bytes) {
    std::uint64_t words[count] = {};
    std::memcpy(words, bytes, sizeof words);
    std::uint64_t all = 0;
    for (const std::uint64_t word : words) all |= word;
    return (all & above_ascii) != 0;
}

// Removes the text's beginning as far as it is known to be ASCII, by `count` words.
template <std::size_t count>
void skip_ascii(std::string_view& text) {
    constexpr std::size_t size = count * sizeof(std::uint64_t);
    while (text.size() >= size && !has_others<count>(text.data())) text.remove_prefix(size);
}

std::string cut(std::string_view text, std::size_t characters, std::size_t bytes) {
    std::string kept;
    kept.reserve(std::min(text.size(), bytes));
    for (; !text.empty() && characters > 0; --characters) {
        std::string_view rest = text;
        const bool is_valid = take_character(rest) != invalid_character;
        const std::string_view character = is_valid ? text.substr(0, text.size() - rest.size()) : replacement;
        if (kept.size() + character.size() > bytes) break;
        kept += character;
        text = rest;
    }
    return kept;
}

}  // namespace

std::string to_lower(std::string_view text) {
    std::string lower(text);
    for (char& c : lower) c = to_lower(c);
    return lower;
}

std::string to_upper(std::string_view text) {
    std::string upper(text);
    for (char& c : upper)
        if (is_lower(c)) c = static_cast<char>(c - ('a' - 'A'));
    return upper;
}

std::string_view take_item(std::string_view& list) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(item.size() + 1, list.size()));
    return item;
}

char32_t take_character(std::string_view& text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    const std::size_t size = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
    char32_t point = size == 1 ? first : first & (0x7Fu >> size);
    bool good = size > 0 && size <= text.size();
    for (std::size_t i = 1; good && i < size; ++i) {
        good = continues_character(text[i]);
        point = point << 6 | (byte(i) & 0x3F);
    }
    constexpr char32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    good = good && point >= smallest[size] && point <= 0x10FFFF && !is_surrogate(point);
    text.remove_prefix(good ? size : 1);
    return good ? point : invalid_character;
}

void append_character(std::string& text, char32_t character) {
    const auto put = [&text](char32_t byte) { text += static_cast<char>(byte); };
    const auto continued = [&](int shift) { put(0x80 | (character >> shift & 0x3F)); };
    if (character < 0x80) {
        put(character);
    } else if (character < 0x800) {
        put(0xC0 | character >> 6);
        continued(0);
    } else if (character > 0x10FFFF || is_surrogate(character)) {
        text += replacement;
    } else if (character < 0x10000) {
        put(0xE0 | character >> 12);
        continued(6);
        continued(0);
    } else {
        put(0xF0 | character >> 18);
        continued(12);
        continued(6);
        continued(0);
    }
}

std::size_t find_invalid_character(std::string_view text) {
    std::string_view rest = text;
    while (!rest.empty()) {
        // Almost all text is ASCII.
        skip_ascii<8>(rest);
        skip_ascii<1>(rest);
        if (rest.empty()) break;
        const std::size_t at = text.size() - rest.size();
        if (take_character(rest) == invalid_character) return at;
    }
    return std::string_view::npos;
}

std::size_t count_characters(std::string_view text) {
    return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, continues_character));
}

std::string_view first_characters(std::string_view text, std::size_t count) {
    std::string_view rest = text;
    for (; count > 0 && !rest.empty(); --count) take_character(rest);
    return text.substr(0, text.size() - rest.size());
}

std::string_view first_bytes(std::string_view text, std::size_t limit) {
    if (text.size() <= limit) return text;
    while (limit > 0 && continues_character(text[limit])) --limit;
    return text.substr(0, limit);
}

std::string_view last_bytes(std::string_view text, std::size_t limit) {
    if (text.size() <= limit) return text;
    text.remove_prefix(text.size() - limit);
    while (!text.empty() && continues_character(text.front())) text.remove_prefix(1);
    return text;
}

std::string cut_characters(std::string_view text, std::size_t limit) {
    return cut(text, limit, std::string::npos);
}

std::string cut_bytes(std::string_view text, std::size_t limit) {
    return cut(text, std::string::npos, limit);
}

std::string printable(std::string_view text) {
    std::string shown;
    shown.reserve(text.size());
    while (!text.empty()) {
        std::string_view rest = text;
        const bool is_shown = !is_control(take_character(rest));
        shown += is_shown ? text.substr(0, text.size() - rest.size()) : "?";
        text = rest;
    }
    return shown;
}

// Other blanks than those of ASCII are taken for such, too: which of them a CI skips is its own affair.
std::size_t find_ci_command(std::string_view line) {
    std::size_t first = 0;
    const auto is_graphic = [](char c) { return c > ' ' && c < '\x7F'; };
    while (first < line.size() && !is_graphic(line[first])) ++first;
    if (line.substr(first).starts_with("::")) return first;
    for (std::size_t at = line.find("##"); at != std::string_view::npos; at = line.find("##", at + 1)) {
        std::size_t end = at + 2;
        while (end < line.size() && is_letter(line[end])) ++end;
        if (end < line.size() && line[end] == '[') return at + 1;
    }
    return std::string_view::npos;
}

std::string quoted(std::string_view text) { return to_json(Json(text)); }

}  // namespace api
