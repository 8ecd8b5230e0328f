#pragma once
#include "api/field_error.hpp"
#include "api/json.hpp"
#include "api/train_job.hpp"
#include "runtime/active_plugins.hpp"

/// Errors for which no TrainJob can be built: of a runtime alone, and of `spec.trainer` together with the
/// runtime, for which the API server would refuse every Pod. The paths of the latter are those of the
/// TrainJob. Its patches do not matter: they have neither images nor limits.
namespace runtime {

/// Returns the errors of a runtime (of a checked shape) for which no TrainJob can be built from it: names
/// that Pods cannot have, two jobs that train, no host names or ranks for a framework that needs them.
api::FieldErrors validate_template(const api::Json& runtime, const ActivePlugins& plugins);

/// Converts a field error into the error of a build.
api::Error to_error(const api::FieldError& error);

/// Returns whether the container "node" of a replicated job gets image, command and arguments of
/// `spec.trainer`.
bool takes_program(const api::Json& job);

/// Returns an error for each container without an image in the result. An empty `spec.trainer.image` counts
/// as unset.
api::FieldErrors image_faults(const api::Json& runtime, const api::TrainJob& job);

/// Returns an error for each limit of `spec.trainer.resourcesPerNode` below the request of a container that
/// gets it, and for each request above the limit.
api::FieldErrors limit_faults(const api::Json& runtime, const api::TrainJob& job,
                              const ActivePlugins& plugins);

/// Returns an error for each resource that no Pod can have, by name or quantity: in
/// `spec.trainer.resourcesPerNode` if a container gets them, and in any container of the runtime, which is an
/// error of `spec.runtimeRef`.
api::FieldErrors unusable_resources(const api::Json& runtime, const api::TrainJob& job,
                                    const ActivePlugins& plugins);

}  // namespace runtime
