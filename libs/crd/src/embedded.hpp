#pragma once
#include <span>
#include <string_view>

namespace crd {

struct Embedded {
    std::string_view kind = {};
    std::string_view schema = {};  ///< openAPIV3Schema as JSON, without descriptions; see shared_parts()
};

// embed.cpp writes their definitions when the library is built.

std::span<const Embedded> embedded();
/// Returns the shared parts of the schemas. {"$": 3} in a schema or in a later part refers to the part with
/// index 3.
std::span<const std::string_view> shared_parts();

}  // namespace crd
