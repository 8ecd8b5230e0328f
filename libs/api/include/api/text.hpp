#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// Text in UTF-8. Case and classes of characters are those of ASCII, whatever the locale is.
namespace api {

constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_lower_or_digit(char c) { return is_lower(c) || is_digit(c); }
constexpr bool is_letter(char c) { return is_lower(c) || is_upper(c); }
constexpr bool is_letter_or_digit(char c) { return is_letter(c) || is_digit(c); }

constexpr char to_lower(char c) { return is_upper(c) ? static_cast<char>(c + ('a' - 'A')) : c; }
std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);

inline bool equal_ignoring_case(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b, [](char x, char y) { return to_lower(x) == to_lower(y); });
}

/// Represents a byte that is not part of a character.
inline constexpr char32_t invalid_character = 0xFFFFFFFF;

/// Removes and returns the first character (code point); `invalid_character`, and one byte, if it is invalid.
/// The text must not be empty.
char32_t take_character(std::string_view& text);

/// Removes and returns the first item of a list with commas. A comma at the end adds no item.
std::string_view take_item(std::string_view& list);

/// Appends a character. U+FFFD stands for what is none: `invalid_character`, a surrogate, a value above
/// U+10FFFF.
void append_character(std::string& text, char32_t character);

/// Returns the position of the first byte that is not part of a character; npos if there is none.
std::size_t find_invalid_character(std::string_view text);

/// Returns the number of characters of a valid text.
std::size_t count_characters(std::string_view text);

/// Returns the longest prefix of at most `count` characters; an invalid byte counts as one.
std::string_view first_characters(std::string_view text, std::size_t count);

/// Returns the longest prefix of at most `limit` bytes that ends between two characters.
std::string_view first_bytes(std::string_view text, std::size_t limit);

/// Returns the longest suffix of at most `limit` bytes that begins with a character.
std::string_view last_bytes(std::string_view text, std::size_t limit);

/// Returns at most `limit` characters. Invalid bytes become U+FFFD.
std::string cut_characters(std::string_view text, std::size_t limit);

/// Returns at most `limit` bytes, cut between two characters. Invalid bytes become U+FFFD.
std::string cut_bytes(std::string_view text, std::size_t limit);

/// Returns whether it is one of C0, DEL and C1, which terminals interpret.
constexpr bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0); }

/// Returns whether it changes the direction of the text around it, so that lines show something else than
/// they say (Unicode's property Bidi_Control).
constexpr bool is_bidi_control(char32_t c) {
    return c == 0x61C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) ||
           (c >= 0x2066 && c <= 0x2069);
}

/// Returns whether readers may take it for the end of a line or of a paragraph beside the controls.
constexpr bool is_separator(char32_t c) { return c == 0x2028 || c == 0x2029; }

/// Returns the position of the first character of a line without which no CI takes it for a command; npos if
/// none does. GitHub: "::" behind nothing but blanks. GitHub, Azure Pipelines, TeamCity: "##[", "##vso[",
/// "##teamcity[" anywhere.
std::size_t find_ci_command(std::string_view line);

/// Replaces control characters by '?'.
std::string printable(std::string_view text);

/// Returns the text as a JSON string: how messages quote what a user wrote.
std::string quoted(std::string_view text);

}  // namespace api
