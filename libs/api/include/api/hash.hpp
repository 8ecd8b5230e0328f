#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace api {

/// FNV-1a. It tells versions of one's own objects apart; nothing may depend on it being hard to forge.
inline std::uint64_t fnv1a(std::string_view bytes, std::uint64_t so_far = 0xcbf29ce484222325) {
    for (const char c : bytes) {
        so_far ^= static_cast<unsigned char>(c);
        so_far *= 0x100000001b3;
    }
    return so_far;
}

/// The lowest `digits` digits.
inline std::string hex(std::uint64_t value, std::size_t digits = 16) {
    std::string text(digits, '0');
    for (std::size_t i = text.size(); i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 15];
    return text;
}

/// Of one entry of a replicated job's Pod template, as notes on a JobSet keep it: `field` is "nodeSelector",
/// and so on; `entry` a key, or an item of a list as JSON.
inline std::string entry_hash(std::string_view job, std::string_view field, std::string_view entry) {
    std::uint64_t hash = fnv1a(job);
    hash = fnv1a(field, fnv1a("/", hash));
    return hex(fnv1a(entry, fnv1a("/", hash)) >> 32, 8);
}

}  // namespace api
