#pragma once
#include <initializer_list>
#include <string_view>

#include "api/json.hpp"

namespace runtime {

/// Returns whether applying `desired` would change nothing: `live` contains every value of it, and may have
/// more members (defaults, other managers' fields). Quantities are compared by value. An absent member
/// contains an empty value, except objects whose presence has a meaning, as below. Lists must be equal in
/// length and order, except owner references, of which there may be more.
bool is_contained(const api::Json& desired, const api::Json& live);

/// Returns whether two trees have the same meaning to the API server: absent, null and [] are alike, and so
/// is {} if Go's types have a map or a struct there, but not a pointer (`emptyDir: {}`, `namespaceSelector:
/// {}`). Quantities are compared by value; the order of lists matters.
bool is_equivalent(const api::Json& left, const api::Json& right);

/// Compares two objects without their members of these names.
bool is_equivalent_but_for(std::initializer_list<std::string_view> names, const api::Json& left,
                           const api::Json& right);

/// Returns whether the member of that name is a quantity, or a map of them.
bool holds_quantities(std::string_view name);
/// Returns whether two quantities have the same value.
bool is_same_quantity(const api::Json& left, const api::Json& right);

}  // namespace runtime
