#pragma once
#include <string_view>

#include "api/text.hpp"

/// Returns whether a terminal and a CI show this text as what it is: whole characters, without controls,
/// characters that change the direction or look like line ends, and the beginning of a command of a CI.
/// `lines`: it has line ends, and each of its lines is looked at alone.
inline bool is_harmless(std::string_view text, bool lines = false) {
    while (!text.empty()) {
        std::string_view line = lines ? text.substr(0, text.find('\n')) : text;
        text.remove_prefix(std::min(text.size(), line.size() + (lines ? 1 : 0)));
        if (api::find_ci_command(line) != line.npos) return false;
        while (!line.empty()) {
            const char32_t c = api::take_character(line);
            if (api::is_control(c) || api::is_bidi_control(c) || api::is_separator(c) ||
                c == api::invalid_character)
                return false;
        }
    }
    return true;
}

/// Returns the text without the colours "\x1b[...m" that a command adds itself.
inline std::string without_colours(std::string_view text) {
    std::string plain;
    while (!text.empty()) {
        const std::size_t begin = std::min(text.find("\x1b["), text.size());
        plain += text.substr(0, begin);
        text.remove_prefix(begin);
        if (text.empty()) break;
        const std::size_t end = text.find_first_not_of("0123456789;:", 2);
        if (end == text.npos || text[end] != 'm') return plain.append(text);
        text.remove_prefix(end + 1);
    }
    return plain;
}
