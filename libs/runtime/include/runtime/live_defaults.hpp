#pragma once
#include <string>

#include "api/json.hpp"

namespace runtime {

/// `wanted` for a JobSet that exists: fields of its spec that must not change are sent as they are in `live`
/// if that is what is wanted and defaults. (The API server and JobSet's webhook add some even within lists,
/// which an apply replaces as a whole; without them it would be refused as a change.)
api::Json with_live_defaults(api::Json wanted, const api::Json& live);

/// `wanted` with all that must not change of it as it is in `live`, whatever `wanted` says: see
/// keeps_template().
api::Json with_live_template(const api::Json& wanted, const api::Json& live);

/// What JobSet does not let change of the spec of a JobSet that exists and is suspended: all but `suspend`,
/// and the labels, annotations, node selectors, tolerations and scheduling gates of its Pods.
api::Json fixed_part(const api::Json& job_set_spec);

/// The path of the first field that must not change and is another in `live`; empty if none is found.
std::string changed_fixed_field(const api::Json& wanted, const api::Json& live);

}  // namespace runtime
