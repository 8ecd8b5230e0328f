#pragma once
#include <optional>
#include <string_view>

#include "api/json.hpp"
#include "runtime/info.hpp"

/// What the trainer's container gets, and what that makes of GPUs and CPUs.
namespace runtime {

/// ResourceRequirements of a container with a TrainJob's `resourcesPerNode` merged over it: limits and
/// requests per key, claims by name. An extended resource or huge pages of which only one side was overridden
/// get that value on both: the API server wants them equal, and a limit wherever there is a request.
api::Result<api::Json> merged_resources(const api::Json& of_container, const api::Json& per_node);

/// What GPUs and CPUs are counted from.
struct CountedResources {
    api::Json resources = {};
    const api::Json* pod_spec = nullptr;  ///< the container's Pod, in the template; nullptr if none counts
};

/// The node container's resources, merged with `resourcesPerNode`, of
/// the first job that is called "node" or trains and has any, whether the merged ones are written there or
/// not. `job_set_spec` is a template's with patches.
api::Result<CountedResources> counted_resources(const api::Json& job_set_spec, const api::Json& per_node);

/// Resources whose name contains "gpu", in any case; requests, and only if those give none, limits. Several
/// names: the sum of those that end in "/gpu", else the first by name. Unknown when there are none but
/// claims.
GpuCount gpus(const api::Json& resources);

/// The request, or if that is zero the limit; rounded up. 0 if there is neither.
std::int64_t cpus(const api::Json& resources);

}  // namespace runtime
