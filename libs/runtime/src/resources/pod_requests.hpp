#pragma once
#include <map>
#include <string>
#include <vector>

#include "api/json.hpp"
#include "api/quantity.hpp"

namespace runtime {

using ResourceList = std::map<std::string, api::Quantity>;

/// What the API server and the kubelet fill in where a Pod says nothing.
struct PodDefaults {
    ResourceList requests = {};  ///< of a container, from the namespace's LimitRanges
    api::Json overhead = {};     ///< `overhead.podFixed` of the Pod's RuntimeClass; null if there is none
};

/// From LimitRanges, in any order. A quantity that cannot be read is left out.
ResourceList default_requests(const std::vector<api::Json>& observed);

/// What the scheduler sets aside for one Pod: the more of what its containers take together and what an init
/// container takes with the sidecars before it; or what the Pod asks for itself; with the overhead
/// (kubernetes.io/docs/concepts/workloads/pods/{init-containers,pod-overhead}). A container without a request
/// takes its limit. The error's field is a path in the Pod's spec.
api::Result<ResourceList> pod_requests(const api::Json& pod_spec, const PodDefaults& defaults);

}  // namespace runtime
