#pragma once
#include "crd/crd.hpp"
#include "node.hpp"

// Checks of one value without its members or items, in the words of the API server.
namespace crd {

using Errors = std::vector<api::StatusCause>;

/// Returns false if the other checks of the value must be skipped.
bool check_type(const Node& node, const api::Json& value, const std::string& path, Errors& errors);
void check_scalar(const Node& node, const api::Json& value, const std::string& path, Errors& errors);
void check_sizes(const Node& node, const api::Json& value, const std::string& path, Errors& errors);

/// Returns a value as messages show it; an object or a list by the name of its type.
std::string shown(const api::Json& value);
/// Returns "spec.a in body"; "body" for the object itself.
std::string in_body(const std::string& path);

std::vector<api::StatusCause> validate(const Node& root, const api::Json& object,
                                       const api::Json& old_object);

}  // namespace crd
