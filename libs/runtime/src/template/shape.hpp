#pragma once
#include <cstddef>

#include "api/json.hpp"
#include "merge/place.hpp"
#include "runtime/shape.hpp"

namespace runtime {

/// As the schema has it. Each patch is merged into what the ones before have made, which may be megabytes.
inline constexpr std::size_t max_runtime_patches = 16;

/// Checks that a value consists of objects and lists where it should, and that lists whose items are each
/// held against a whole object are as short as the schemas have them. The schemas see to that; an object that
/// is older than they are, a snapshot, or a review that comes from elsewhere must neither crash a program nor
/// keep it busy.
api::Result<> check_shape(const api::Json& value, const Shape& shape, const merge::Place& place);
/// Of a runtime, but for the policies of plugins: see check_runtime_shape().
api::Result<> check_shape_without_policies(const api::Json& runtime);
/// Of a TrainJob's `spec`; paths begin with "spec".
api::Result<> check_train_job_shape(const api::Json& spec);

}  // namespace runtime
