#pragma once
#include <initializer_list>
#include <string_view>

#include "api/json.hpp"

namespace runtime {

/// Whether applying `desired` would change nothing: every value of it is in `live`, which may have more
/// members (defaults, other managers' fields). Quantities count by value; an empty value is contained in an
/// absent one, but for objects whose being there says something, as below. Lists must agree in length and
/// order, but for owner references, of which there may be more.
bool is_contained(const api::Json& desired, const api::Json& live);

/// Whether two trees mean the same to the API server: absent, null and [] are alike, and so is {} where Go's
/// types have a map or a struct, but not where they have a pointer (`emptyDir: {}`, `namespaceSelector: {}`);
/// quantities count by value; the order of lists matters.
bool is_equivalent(const api::Json& left, const api::Json& right);

/// Of two objects, whatever their members of these names are.
bool is_equivalent_but_for(std::initializer_list<std::string_view> names, const api::Json& left,
                           const api::Json& right);

/// Whether the member of that name is a quantity, or a map of them.
bool holds_quantities(std::string_view name);
/// Also if they are written in other words.
bool is_same_quantity(const api::Json& left, const api::Json& right);

}  // namespace runtime
