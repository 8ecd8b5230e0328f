#pragma once
#include <array>
#include <cstddef>
#include <string_view>

namespace net {

/// A SHA-256 hash. It replaces a secret in memory that must not be kept in clear text.
using Digest = std::array<unsigned char, 32>;

Digest digest_of(std::string_view text);

}  // namespace net
