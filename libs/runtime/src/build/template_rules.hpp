#pragma once
#include "api/field_error.hpp"
#include "api/json.hpp"
#include "runtime/active_plugins.hpp"
#include "runtime/plugin.hpp"

namespace runtime {

/// Returns the errors of a runtime (of a checked shape) for which no TrainJob can be built from it: names
/// that Pods cannot have, two jobs that train, no host names or ranks for a framework that needs them.
api::FieldErrors validate_template(const api::Json& runtime, const ActivePlugins& plugins);

/// Refuses the runtime of a TrainJob.
void refuse_runtime(const ValidationInputs& review, std::string why, api::FieldErrors& errors);

/// Converts a field error into the error of a build.
api::Error to_error(const api::FieldError& error);

}  // namespace runtime
