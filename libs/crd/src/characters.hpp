#pragma once
#include <algorithm>
#include <string_view>

namespace crd {

/// Returns the number of Unicode characters in UTF-8 text.
inline std::size_t count_characters(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace crd
