#pragma once
#include <string_view>

#include "kube/request.hpp"

namespace kube {

/// The collection that objects of a kind are in, of those in `resources`; nullptr for other kinds.
const Resource* find_resource(std::string_view api_version, std::string_view kind);

}  // namespace kube
