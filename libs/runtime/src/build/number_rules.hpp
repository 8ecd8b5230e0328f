#pragma once
#include "api/field_error.hpp"
#include "api/json.hpp"
#include "runtime/active_plugins.hpp"

/// The minimum of each number, for objects that were stored before the schema had it, or under another one.
/// The schema has the maximum: no number is longer than an int32, unless it is a time.
namespace runtime {

/// Returns an error for each number of a runtime's policies that is below its minimum. Paths are those of the
/// runtime. `trainer` is `spec.trainer` of the TrainJob, whose number of nodes replaces the runtime's.
api::FieldErrors number_errors_of_runtime(const api::Json& runtime, const ActivePlugins& plugins,
                                          const api::Json& trainer);

/// Returns the same for a TrainJob's `spec.trainer`.
api::FieldErrors number_errors_of_trainer(const api::Json& trainer);

}  // namespace runtime
