#pragma once
#include <bit>
#include <cstdint>
#include <cstring>

namespace api {

// Strings of JSON text go by words of eight bytes: nearly all of their characters stand for themselves.

/// What is more than itself in a string: a control character, a quote, a backslash.
constexpr bool is_special(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

/// How many of the eight bytes at `text` come before the first special one; 8 if none is.
inline int plain_bytes(const char* text) {
    using Word = std::uint64_t;
    constexpr Word ones = ~Word() / 255;
    constexpr Word tops = ones * 0x80;
    Word word = 0;
    std::memcpy(&word, text, sizeof word);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    // The top bit of the lowest byte that is less than `limit`; of those above it, it may say so wrongly.
    const auto below = [](Word bytes, unsigned char limit) { return (bytes - ones * limit) & ~bytes & tops; };
    const Word found = below(word, 0x20) | below(word ^ ones * '"', 1) | below(word ^ ones * '\\', 1);
    return std::countr_zero(found) / 8;
}

/// The first special character. There has to be one, and seven bytes after it that may be read.
inline const char* find_special(const char* text) {
    for (;;) {
        const int plain = plain_bytes(text);
        text += plain;
        if (plain < 8) return text;
    }
}

}  // namespace api
