#pragma once
#include "api/json.hpp"

namespace runtime {

/// `wanted` for a JobSet that exists: fields of its spec that must not change are sent as they are in `live`
/// if that is what is wanted and defaults. (The API server and JobSet's webhook add some even within lists,
/// which an apply replaces as a whole; without them it would be refused as a change.)
api::Json with_live_defaults(api::Json wanted, const api::Json& live);

}  // namespace runtime
