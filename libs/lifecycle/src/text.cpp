#include "text.hpp"

#include <algorithm>

namespace lifecycle {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

bool in_range(char c, unsigned low, unsigned high) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= low && byte <= high;
}

// The length of the character at the front (table 3-7 of the Unicode standard); 0 if there is none.
std::size_t character_size(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text.front());
    if (lead < 0x80) return 1;
    const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return 0;
    const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (!in_range(text[1], low, high)) return 0;
    for (std::size_t i = 2; i < size; ++i)
        if (!in_range(text[i], 0x80, 0xBF)) return 0;
    return size;
}

std::string cut(std::string_view text, std::size_t characters, std::size_t bytes) {
    std::string kept;
    kept.reserve(std::min(text.size(), bytes));
    for (; !text.empty() && characters > 0; --characters) {
        const std::size_t size = character_size(text);
        const std::string_view character = size > 0 ? text.substr(0, size) : replacement;
        if (kept.size() + character.size() > bytes) break;
        kept += character;
        text.remove_prefix(std::max<std::size_t>(size, 1));
    }
    return kept;
}

}  // namespace

std::string cut_characters(std::string_view text, std::size_t limit) {
    return cut(text, limit, std::string::npos);
}

std::string cut_bytes(std::string_view text, std::size_t limit) {
    return cut(text, std::string::npos, limit);
}

// In UTF-8 those of U+0080 to U+009F have two bytes.
std::string printable(std::string text) {
    std::string shown;
    shown.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool has_two_bytes =
            text[i] == '\xC2' && i + 1 < text.size() && in_range(text[i + 1], 0x80, 0x9F);
        if (has_two_bytes) ++i;
        shown += has_two_bytes || in_range(text[i], 0, 0x1F) || text[i] == '\x7F' ? '?' : text[i];
    }
    return shown;
}

}  // namespace lifecycle
