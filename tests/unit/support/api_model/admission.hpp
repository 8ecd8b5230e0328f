#pragma once
#include <optional>

#include "api_model.hpp"

namespace faults {

/// What the CRD of JobSet 0.12 fills in, as far as it makes an object another one than was sent. Whoever
/// creates by POST owns it.
void default_by_schema(const Kind& kind, api::Json& object);
/// What its webhook fills in. Nobody owns it.
void default_by_webhook(const Kind& kind, api::Json& object);

/// What may not change: runtime.md's table of JobSet's fields, and immutable ConfigMaps. `before` is null for
/// a create.
std::optional<Reply> admit(const Kind& kind, const api::Json& before, const api::Json& after);

}  // namespace faults
