#pragma once
#include "crd/crd.hpp"
#include "node.hpp"

// What the schema says of one value by itself, as the API server words it.
namespace crd {

using Findings = std::vector<Finding>;

/// False if there is nothing more to say of the value.
bool check_type(const Node& node, const api::Json& value, const std::string& path, Findings& findings);
void check_scalar(const Node& node, const api::Json& value, const std::string& path, Findings& findings);
void check_sizes(const Node& node, const api::Json& value, const std::string& path, Findings& findings);

/// As messages show values: objects and lists by their type's name.
std::string shown(const api::Json& value);
/// "spec.a in body", or "body" of the object itself.
std::string in_body(const std::string& path);

}  // namespace crd
