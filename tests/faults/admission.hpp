#pragma once
#include <optional>

#include "api_model.hpp"

namespace faults {

/// What the CRD of JobSet 0.12 and its webhook fill in, as far as it makes an object another one than was
/// sent.
void default_fields(const Kind& kind, api::Json& object);

/// What may not change: runtime.md's table of JobSet's fields, and immutable ConfigMaps. `before` is null for
/// a create.
std::optional<Reply> admit(const Kind& kind, const api::Json& before, const api::Json& after);

}  // namespace faults
