#pragma once
#include <string>

#include "api/json.hpp"

namespace runtime {

/// Returns `wanted` for an existing JobSet: immutable fields of its spec are sent as in `live` if they differ
/// only by defaults. (The API server and JobSet's webhook add some, also in lists, which an apply replaces as
/// a whole. An apply without them would be refused as a change.) No field is added that `wanted` lacks.
api::Json with_live_defaults(api::Json wanted, const api::Json& live);

/// Returns `wanted` with its immutable part as in `live`: see keeps_template(). For comparisons only, since
/// it includes fields of other managers.
api::Json with_live_template(const api::Json& wanted, const api::Json& live);

/// Returns the same for an apply: of the immutable part, only the fields of this controller's last apply, by
/// the managedFields of `live`. With more fields the controller would own JobSet's defaults, and a later
/// apply without them, such as one of another release, would remove them, which JobSet refuses. With fewer
/// fields the same would happen.
/// `built`: the JobSet as it is built.
api::Json with_applied_template(const api::Json& wanted, const api::Json& built, const api::Json& live);

/// Returns the immutable part of the spec of an existing, suspended JobSet: all but `suspend`, and the
/// labels, annotations, node selectors, tolerations and scheduling gates of its Pods.
api::Json fixed_part(const api::Json& job_set_spec);

/// Returns the path of the first immutable field that differs from `live`; empty if there is none.
std::string changed_fixed_field(const api::Json& wanted, const api::Json& live);

}  // namespace runtime
