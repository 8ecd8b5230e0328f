#pragma once
#include <cstddef>

#include "api/json.hpp"
#include "merge/place.hpp"
#include "runtime/shape.hpp"

namespace runtime {

/// The limit of the schema. Each patch is merged into the result of those before, which may be megabytes.
inline constexpr std::size_t max_runtime_patches = 16;

/// Checks that a value consists of objects and lists as the schemas require, and that lists whose items are
/// each compared with a whole object are no longer than in the schemas. API servers check that too. But an
/// object from before a schema, a snapshot, or a review from another sender must neither crash a program nor
/// keep it busy.
api::Result<> check_shape(const api::Json& value, const Shape& shape, const merge::Place& place);
/// Checks a runtime, without the policies of plugins: see check_runtime_shape().
api::Result<> check_shape_without_policies(const api::Json& runtime);
/// Checks a TrainJob's `spec`; paths begin with "spec".
api::Result<> check_train_job_shape(const api::Json& spec);

}  // namespace runtime
