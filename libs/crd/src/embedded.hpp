#pragma once
#include <span>
#include <string_view>

namespace crd {

struct Embedded {
    std::string_view kind = {};
    std::string_view schema = {};  ///< openAPIV3Schema as JSON, without descriptions; see shared_parts()
};

// Written by embed.cpp when the library is built.

std::span<const Embedded> embedded();
/// {"$": 3} in a schema, or in a later part, stands for the third of these.
std::span<const std::string_view> shared_parts();

}  // namespace crd
