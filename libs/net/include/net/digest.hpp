#pragma once
#include <array>
#include <cstddef>
#include <string_view>

namespace net {

/// SHA-256: stands for a secret that shall not be kept.
using Digest = std::array<unsigned char, 32>;

Digest digest_of(std::string_view text);

}  // namespace net
