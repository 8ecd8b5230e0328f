#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace api {

/// Returns the FNV-1a hash. It distinguishes versions of the program's own objects; nothing may depend on its
/// being hard to forge.
inline std::uint64_t fnv1a(std::string_view bytes, std::uint64_t so_far = 0xcbf29ce484222325) {
    for (const char c : bytes) {
        so_far ^= static_cast<unsigned char>(c);
        so_far *= 0x100000001b3;
    }
    return so_far;
}

/// The key of a hash that is hard to forge.
struct HashKey {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
};

/// Returns the SipHash-2-4 (Aumasson and Bernstein, 2012). Without the key, no texts can be found that share
/// a hash or a bucket of a table.
std::uint64_t siphash(const HashKey& key, std::string_view bytes);

/// Returns the same hash with this process's random key, for tables whose keys tenants choose. It differs
/// from process to process. Thread rule: any.
std::uint64_t keyed_hash(std::string_view bytes);
/// Returns the hash of two texts and of the border between them.
std::uint64_t keyed_hash(std::string_view first, std::string_view second);
/// Replaces the process's key, for tables whose order has to be the same in each run, for example in tests.
/// Tables with content become invalid. Thread rule: before other threads start.
void fix_hash_key(const HashKey& key);

/// A hash function for std::unordered_map and similar tables.
struct KeyedHash {
    std::size_t operator()(std::string_view text) const noexcept { return keyed_hash(text); }
};

/// Returns the lowest `digits` digits.
inline std::string hex(std::uint64_t value, std::size_t digits = 16) {
    std::string text(digits, '0');
    for (std::size_t i = text.size(); i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 15];
    return text;
}

/// Returns the hash of one entry of a replicated job's Pod template, for annotations of a JobSet. `field` is
/// "nodeSelector" and so on; `entry` is a key, or an item of a list as JSON.
inline std::string entry_hash(std::string_view job, std::string_view field, std::string_view entry) {
    std::uint64_t hash = fnv1a(job);
    hash = fnv1a(field, fnv1a("/", hash));
    return hex(fnv1a(entry, fnv1a("/", hash)) >> 32, 8);
}

}  // namespace api
