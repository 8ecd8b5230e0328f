#pragma once
#include <algorithm>
#include <string_view>

namespace api {

/// A label of RFC 1123: what Kubernetes wants where a name becomes a part of host names, and for namespaces.
inline bool is_dns_label(std::string_view name) {
    const auto letter_or_digit = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
    return !name.empty() && name.size() <= 63 && letter_or_digit(name.front()) &&
           letter_or_digit(name.back()) &&
           std::all_of(name.begin(), name.end(), [&](char c) { return c == '-' || letter_or_digit(c); });
}

}  // namespace api
