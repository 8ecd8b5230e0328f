#pragma once
#include <algorithm>
#include <string_view>

#include "api/text.hpp"

namespace api {

/// Returns whether the text is a label of RFC 1123: lower-case letters and digits, and hyphens between them.
/// Kubernetes requires one for namespaces and for names that become part of host names.
inline bool is_dns_label(std::string_view name) {
    return !name.empty() && name.size() <= 63 && is_lower_or_digit(name.front()) &&
           is_lower_or_digit(name.back()) &&
           std::all_of(name.begin(), name.end(), [](char c) { return c == '-' || is_lower_or_digit(c); });
}

/// Returns whether the text is a subdomain of RFC 1123, which API servers require as the name of most
/// objects: labels of any length, with dots between them.
inline bool is_dns_subdomain(std::string_view text) {
    if (text.empty() || text.size() > 253) return false;
    char before = '.';
    for (const char c : text) {
        const bool in_label = before != '.' && before != '-';
        if (c == '.' && !in_label) return false;
        if (c == '-' && before == '.') return false;
        if (c != '.' && c != '-' && !is_lower_or_digit(c)) return false;
        before = c;
    }
    return is_lower_or_digit(before);
}

/// Returns whether the text can be the part of a qualified name after the slash, or a name without one: 63
/// letters, digits, hyphens, underscores and dots at most, the first and the last a letter or a digit.
inline bool is_name_part(std::string_view text) {
    return !text.empty() && text.size() <= 63 && is_letter_or_digit(text.front()) &&
           is_letter_or_digit(text.back()) && std::all_of(text.begin(), text.end(), [](char c) {
               return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
           });
}

/// Returns whether the text is a qualified name ("example.com/Name"), which API servers require for keys of
/// labels and types of conditions of Pods.
inline bool is_qualified_name(std::string_view text) {
    const auto slash = text.find('/');
    if (slash == text.npos) return is_name_part(text);
    return is_dns_subdomain(text.substr(0, slash)) && is_name_part(text.substr(slash + 1));
}

}  // namespace api
