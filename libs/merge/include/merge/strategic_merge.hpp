#pragma once
#include "api/json.hpp"
#include "merge/schema.hpp"

namespace merge {

/// Merges `patch` into `base` strategically, as Kubernetes' typed clients do. Two differences keep the result
/// valid: of a one-of group only the patch's members stay, and maps of strings are merged literally. Values
/// that a typed patch cannot carry have no effect: null, empty lists and maps, zeros of plain scalars. So a
/// patch cannot remove anything. Unknown fields of the base stay. Idempotent.
/// An item that a patch names more than once is merged as often while it is small (100 values), and refused
/// when it is large.
/// Fails with the path in the patch, e.g. "replicatedJobs[0].template: must be an object".
api::Result<api::Json> strategic_merge(api::Json base, const api::Json& patch, const Type& type);

}  // namespace merge
