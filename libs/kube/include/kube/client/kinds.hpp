#pragma once
#include <string_view>

#include "kube/client/request.hpp"

namespace kube {

/// Returns the resource of a kind, from the list in `resources`; nullptr for other kinds.
const Resource* find_resource(std::string_view api_version, std::string_view kind);

}  // namespace kube
