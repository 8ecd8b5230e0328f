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

}  // namespace api
