#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace api::utf8 {

inline constexpr char32_t broken = 0xFFFFFFFF;

/// Removes and returns the first code point; `broken`, and one byte, if it is invalid. The text must not be
/// empty.
char32_t take(std::string_view& text);

/// Returns the position of the first byte that is not part of a code point; npos if there is none.
std::size_t find_broken(std::string_view text);

/// Returns the longest prefix of at most `count` code points.
std::string_view prefix(std::string_view text, std::size_t count);

/// Returns whether it is one of C0, DEL and C1, which terminals interpret.
inline bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0); }

}  // namespace api::utf8
