#pragma once
#include "api/json.hpp"

namespace merge {

/// Applies a JSON merge patch (RFC 7396) to `target`: members of objects are merged, null removes a member,
/// and any other value, a list too, replaces what is there. Cannot fail. As deep as the patch, which parsers
/// limit.
void merge_patch(api::Json& target, const api::Json& patch);

}  // namespace merge
