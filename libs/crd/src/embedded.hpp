#pragma once
#include <span>
#include <string_view>

namespace crd {

struct Embedded {
    std::string_view kind = {};
    std::string_view schema = {};  ///< openAPIV3Schema as JSON, without descriptions
};

/// Written by embed.cpp when the library is built.
std::span<const Embedded> embedded();

}  // namespace crd
