#include "plugins/flux/z85.hpp"

#include <cstdint>

namespace runtime {

std::string to_z85(std::string_view bytes) {
    constexpr std::string_view alphabet =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
    constexpr std::size_t group_bytes = 4;
    constexpr std::uint32_t base = 85;
    constexpr std::uint32_t highest_weight = base * base * base * base;
    std::string text;
    for (; bytes.size() >= group_bytes; bytes.remove_prefix(group_bytes)) {
        std::uint32_t group = 0;
        for (const char byte : bytes.substr(0, group_bytes))
            group = group << 8 | static_cast<unsigned char>(byte);
        for (std::uint32_t weight = highest_weight; weight > 0; weight /= base)
            text += alphabet[group / weight % base];
    }
    return text;
}

}  // namespace runtime
