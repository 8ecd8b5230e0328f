#pragma once
#include "api/field_error.hpp"
#include "api/json.hpp"
#include "api/train_job.hpp"
#include "runtime/active_plugins.hpp"

/// What is wrong with `spec.trainer` together with the runtime, so that the API server would refuse every
/// Pod. Paths are those of the TrainJob. Its patches play no role: they have neither images nor limits.
namespace runtime {

/// Whether the container "node" of a replicated job gets image, command and arguments of `spec.trainer`.
bool takes_program(const api::Json& job);

/// Containers that have no image in the end. An empty `spec.trainer.image` counts as unset.
api::FieldErrors image_faults(const api::Json& runtime, const api::TrainJob& job);

/// Limits of `spec.trainer.resourcesPerNode` below the requests that they meet, and requests above the
/// limits, in the containers that get them.
api::FieldErrors limit_faults(const api::Json& runtime, const api::TrainJob& job,
                              const ActivePlugins& plugins);

/// Resources that no Pod can have, by name or quantity: of `spec.trainer.resourcesPerNode` where a container
/// gets them, and of any container of the runtime, which is an error of `spec.runtimeRef`.
api::FieldErrors unusable_resources(const api::Json& runtime, const api::TrainJob& job,
                                    const ActivePlugins& plugins);

}  // namespace runtime
