#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace api {

// Processes strings of JSON text by eight bytes, since nearly all of their characters are ordinary ones.

/// Returns whether a character is special in a string: a control character, a quote, a backslash.
constexpr bool is_special(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

/// The number of bytes after a text that may be read, with any content.
inline constexpr std::size_t bytes_beyond = 16;

/// Returns how many of the eight bytes at `text` come before the first special one; 8 if there is none.
inline int plain_in_word(const char* text) {
    using Word = std::uint64_t;
    constexpr Word ones = ~Word() / 255;
    constexpr Word tops = ones * 0x80;
    Word word = 0;
    std::memcpy(&word, text, sizeof word);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    // Sets the top bit of the lowest byte that is less than `limit`. Higher bytes may be wrong.
    const auto below = [](Word bytes, unsigned char limit) { return (bytes - ones * limit) & ~bytes & tops; };
    const Word found = below(word, 0x20) | below(word ^ ones * '"', 1) | below(word ^ ones * '\\', 1);
    return std::countr_zero(found) / 8;
}

/// Returns the first special character. There has to be one, and `bytes_beyond` readable bytes after it.
inline const char* find_special(const char* text) {
#ifdef __SSE2__
    for (;; text += 16) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text));
        const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1F)), bytes);
        const __m128i quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
        const __m128i backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
        const __m128i special = _mm_or_si128(control, _mm_or_si128(quote, backslash));
        const auto found = static_cast<unsigned>(_mm_movemask_epi8(special));
        if (found != 0) return text + std::countr_zero(found);
    }
#else
    for (;;) {
        const int plain = plain_in_word(text);
        text += plain;
        if (plain < 8) return text;
    }
#endif
}

}  // namespace api
