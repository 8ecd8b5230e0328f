#pragma once
#include "api/json.hpp"
#include "merge/schema.hpp"

/// Computes what Go's encoder writes for a patch that was decoded into the typed structs: `omitempty` drops
/// zero values.
namespace merge {

/// Returns whether Go would encode this member of a patch. `field` is its row in the table, or nullptr.
bool is_sent(const api::Json& value, const Field* field);

/// Returns the value as Go would encode it.
api::Json as_typed_value(const api::Json& value, const Field* field);

/// Returns an item of a list as Go would encode it. `type` is the type of the items; nullptr: no field has
/// rules.
api::Json as_typed_item(const api::Json& item, const Type* type);

}  // namespace merge
