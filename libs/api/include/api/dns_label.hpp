#pragma once
#include <algorithm>
#include <string_view>

namespace api {

/// What RFC 1123 lets labels begin and end with; in the middle they may have hyphens too.
constexpr bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

/// A label of RFC 1123: what Kubernetes wants where a name becomes a part of host names, and for namespaces.
inline bool is_dns_label(std::string_view name) {
    return !name.empty() && name.size() <= 63 && is_lower_or_digit(name.front()) &&
           is_lower_or_digit(name.back()) &&
           std::all_of(name.begin(), name.end(), [](char c) { return c == '-' || is_lower_or_digit(c); });
}

/// A subdomain of RFC 1123, as API servers want the names of most objects: labels of whatever length, with
/// dots between them.
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
