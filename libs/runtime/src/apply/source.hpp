#pragma once
#include "api/json.hpp"

namespace runtime {

/// Returns patches without the fields that may change in a suspended JobSet: see fixed_part(). Leaves out
/// patches of which nothing remains.
api::Json fixed_patches(const api::Json& patches);

}  // namespace runtime
