#pragma once
#include "crd/crd.hpp"
#include "node.hpp"

namespace crd {

std::vector<api::StatusCause> validate(const Node& root, const api::Json& object,
                                       const api::Json& old_object);

}  // namespace crd
