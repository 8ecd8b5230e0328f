#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/json.hpp"
#include "runtime/build.hpp"
#include "runtime/info.hpp"

/// The resources of the trainer's container, and the number of its GPUs and CPUs; also of GPUs behind
/// resource claims (Kubernetes' dynamic resource allocation, resource.k8s.io/v1), which no list of resources
/// contains.
namespace runtime {

/// Returns ResourceRequirements of a container with a TrainJob's `resourcesPerNode` merged over it: limits
/// and requests per key, claims by name. If only one side of an extended resource or huge pages was
/// overridden, both get that value: the API server requires equal values, and a limit for each request.
api::Result<api::Json> merged_resources(const api::Json& of_container, const api::Json& per_node);

/// The inputs for counting GPUs and CPUs.
struct CountedResources {
    api::Json resources = {};
    const api::Json* pod_spec = nullptr;  ///< the container's Pod, in the template; nullptr if none counts
};

/// Returns the node container's resources, merged with `resourcesPerNode`, of the first job that is called
/// "node" or trains and has any, whether the merged ones are written there or not. `job_set_spec` is a
/// template's with patches.
api::Result<CountedResources> counted_resources(const api::Json& job_set_spec, const api::Json& per_node);

/// Returns the resources whose name contains "gpu", in any case: requests, and only without those, limits.
/// Several names: the sum of those that end in "/gpu", else the first by name. If there is none, 1 for parts
/// of GPUs. Unknown if there are only claims, or resources of classes that do not have "gpu" in their names.
DeviceCount devices_in(const api::Json& resources);

/// Returns the classes of the resources `deviceclass.resource.kubernetes.io/<class>` with the number of their
/// devices: requests, and only without those, limits.
std::map<std::string, std::int64_t> devices_by_class(const api::Json& resources);

/// Returns whether there is a part of a GPU, such as nvidia.com/mig-1g.5gb. A process sees one of them at
/// most.
bool has_gpu_parts(const api::Json& resources);

/// Returns whether there are TPUs. One process of a Pod drives all of them.
bool has_tpus(const api::Json& resources);

/// Returns the request, or if that is zero the limit, rounded up. 0 if there is neither.
std::int64_t cpus(const api::Json& resources);

/// Returns the claims or templates of the node container, and the device classes that those name: at most one
/// hundred in total, as each has to be read. If there are more, the number is unknown.
void add_claim_needs(const CountedResources& counted, const std::string& ns,
                     const std::vector<api::Json>& observed, Needs& needs);

/// Returns the GPUs of one Pod: those in its resources, or if there are none those behind its claims. A
/// device is a GPU if the name of its request, of its class, or of the class' extended resource contains
/// "gpu". If there are only parts of GPUs, they count as one. If an object was not observed, the number is
/// unknown, and so it is for claims of a Pod with a schedulingGroup, which may share them.
DeviceCount count_devices(const CountedResources& counted, const std::string& ns,
                          const std::vector<api::Json>& observed);

}  // namespace runtime
