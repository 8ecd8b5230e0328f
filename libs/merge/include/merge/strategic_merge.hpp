#pragma once
#include "api/json.hpp"
#include "merge/schema.hpp"

namespace merge {

/// Strategic merge of `patch` into `base`, as Kubernetes' typed clients do it, with these differences that
/// make the outcome valid: of a one-of group only what the patch sets stays, and maps of strings are merged
/// literally. Nothing that a typed patch cannot carry has an effect: null, empty lists and maps, zeros of
/// plain scalars; so a patch cannot remove anything. Fields of the base that nobody knows survive.
/// Merging the same patch twice changes nothing more.
/// An error names the place in the patch, e.g. "replicatedJobs[0].template: must be an object".
api::Result<api::Json> strategic_merge(api::Json base, const api::Json& patch, const Type& type);

}  // namespace merge
