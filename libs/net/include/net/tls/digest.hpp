#pragma once
#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace net {

/// A SHA-256 hash.
using Digest = std::array<unsigned char, 32>;

/// Replaces a secret in memory that must not be kept in clear text.
Digest digest_of(std::string_view text);

/// Returns the same as the API writes it: "sha256:" and 64 digits in hex.
std::string digest_text(std::string_view text);

/// For hash tables. A digest is a hash already, so its first bytes suffice.
struct DigestHash {
    std::size_t operator()(const Digest& digest) const noexcept {
        std::size_t value = 0;
        std::memcpy(&value, digest.data(), sizeof value);
        return value;
    }
};

}  // namespace net
