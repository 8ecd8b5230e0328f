#pragma once
#include "api/json.hpp"
#include "merge/schema.hpp"

/// What Go's encoder would leave of a patch that passed through the typed structs: `omitempty` drops what is
/// zero.
namespace merge {

/// Whether a member of a patch would be there at all. `field` is what the table knows about it, or nullptr.
bool is_sent(const api::Json& value, const Field* field);

/// What would be left of it.
api::Json as_typed_value(const api::Json& value, const Field* field);

/// Of an item of a list whose items are of this type (nullptr: nothing to know about it).
api::Json as_typed_item(const api::Json& item, const Type* type);

}  // namespace merge
