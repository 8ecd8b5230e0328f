#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"
#include "runtime/build.hpp"
#include "runtime/devices.hpp"
#include "runtime/info.hpp"

/// The resources of the trainer's container, and the number of its devices and CPUs; also of devices behind
/// resource claims (Kubernetes' dynamic resource allocation, resource.k8s.io/v1), which no list of resources
/// contains.
namespace runtime {

/// Returns ResourceRequirements of a container with a TrainJob's `resourcesPerNode` merged over it: limits
/// and requests per key, claims by name. If only one side of an extended resource or huge pages was
/// overridden, both get that value: the API server requires equal values, and a limit for each request.
api::Result<api::Json> merged_resources(const api::Json& of_container, const api::Json& per_node);

/// The inputs for counting devices and CPUs.
struct CountedResources {
    api::Json resources = {};
    const api::Json* pod_spec = nullptr;  ///< the container's Pod, in the template; nullptr if none counts
    /// The Pod's claims, by name, that so many Pods share.
    std::vector<std::string_view> shared_claims = {};
    std::int64_t sharing_pods = 1;
};

/// Returns the node container's resources, merged with `resourcesPerNode`, of the first job that is called
/// "node" or trains and has any, whether the merged ones are written there or not. `job_set_spec` is a
/// template's with patches.
api::Result<CountedResources> counted_resources(const api::Json& job_set_spec, const api::Json& per_node);

/// Returns the devices in a container's resources, by the table: requests, and only without those, limits.
/// Unknown if there are none, but claims, resources of a class that is not in the table, or a resource that
/// looks like a device. Only of that resource it says why.
DeviceCount devices_in(const api::Json& resources, const DeviceTable& table);

/// Returns the classes of the resources `deviceclass.resource.kubernetes.io/<class>` with the number of their
/// devices: requests, and only without those, limits.
std::map<std::string, std::int64_t> devices_by_class(const api::Json& resources);

/// Returns the request, or if that is zero the limit, rounded up. 0 if there is neither.
std::int64_t cpus(const api::Json& resources);

/// Returns the claims or templates of the node container, and the device classes that those name: at most one
/// hundred in total, as each has to be read. If there are more, the number is unknown.
void add_claim_needs(const CountedResources& counted, const std::string& ns, const DeviceTable& table,
                     const std::vector<api::Json>& observed, Needs& needs);

/// Returns the devices of one Pod: those in its resources, or if there are none those behind its claims. What
/// a device of a claim is follows from the first of these names that is in the table: its class, the class'
/// extended resource, the class' driver. A request with "gpu" in its name is one of GPUs. If an object was
/// not observed, the number is unknown, and so it is for claims of a Pod with a schedulingGroup of its
/// template, which may share them. The devices of a shared claim are divided among its Pods: the number is
/// unknown if that leaves a rest.
DeviceCount count_devices(const CountedResources& counted, const std::string& ns, const DeviceTable& table,
                          const std::vector<api::Json>& observed);

}  // namespace runtime
