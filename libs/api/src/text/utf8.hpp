#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace api::utf8 {

inline constexpr char32_t broken = 0xFFFFFFFF;

/// Takes one code point off the front; `broken`, and one byte, if there is none. The text must not be empty.
char32_t take(std::string_view& text);

/// Where the first byte stands that is not part of a code point; npos if all are.
std::size_t find_broken(std::string_view text);

/// The longest prefix of at most `count` code points.
std::string_view prefix(std::string_view text, std::size_t count);

/// C0, DEL and C1: what terminals obey.
inline bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0); }

}  // namespace api::utf8
