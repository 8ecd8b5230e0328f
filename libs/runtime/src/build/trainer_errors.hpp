#pragma once
#include "api/field_error.hpp"
#include "api/json.hpp"
#include "api/train_job.hpp"
#include "runtime/active_plugins.hpp"

/// Errors of `spec.trainer` together with the runtime, for which the API server would refuse every Pod. Paths
/// are those of the TrainJob. Its patches do not matter: they have neither images nor limits.
namespace runtime {

/// Returns whether the container "node" of a replicated job gets command and arguments of `spec.trainer`.
bool takes_program(const api::Json& job);

/// Returns an error for each container without an image in the result. An empty `spec.trainer.image` counts
/// as unset.
api::FieldErrors image_errors(const api::Json& runtime, const api::TrainJob& job,
                              const ActivePlugins& plugins);

/// Returns an error for each limit of `spec.trainer.resourcesPerNode` below the request of a container that
/// gets it, and for each request above the limit.
api::FieldErrors limit_errors(const api::Json& runtime, const api::TrainJob& job,
                              const ActivePlugins& plugins);

/// Returns an error for each resource that no Pod can have, by name or quantity: in
/// `spec.trainer.resourcesPerNode` if a container gets them, and in any container of the runtime, which is an
/// error of `spec.runtimeRef`.
api::FieldErrors unusable_resources(const api::Json& runtime, const api::TrainJob& job,
                                    const ActivePlugins& plugins);

}  // namespace runtime
