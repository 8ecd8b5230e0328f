#pragma once
#include <string>

#include "api/json.hpp"

namespace runtime {

/// `wanted` for a JobSet that exists: fields of its spec that must not change are sent as they are in `live`
/// if that is what is wanted and defaults. (The API server and JobSet's webhook add some even within lists,
/// which an apply replaces as a whole; without them it would be refused as a change.) No field more is sent
/// than `wanted` has.
api::Json with_live_defaults(api::Json wanted, const api::Json& live);

/// `wanted` with all that must not change of it as it is in `live`, whatever `wanted` says: see
/// keeps_template(). For comparing; of what others have put there, too.
api::Json with_live_template(const api::Json& wanted, const api::Json& live);

/// The same to be applied: of what must not change, only what our last apply wrote, by the managedFields of
/// `live`. More would make us the owner of JobSet's defaults, and a later apply without them, as of another
/// release, would take them away, which JobSet refuses; so it would less. `ours`: as it is built.
api::Json with_applied_template(const api::Json& wanted, const api::Json& ours, const api::Json& live);

/// What JobSet does not let change of the spec of a JobSet that exists and is suspended: all but `suspend`,
/// and the labels, annotations, node selectors, tolerations and scheduling gates of its Pods.
api::Json fixed_part(const api::Json& job_set_spec);

/// The path of the first field that must not change and is another in `live`; empty if none is found.
std::string changed_fixed_field(const api::Json& wanted, const api::Json& live);

}  // namespace runtime
