#pragma once
#include <map>
#include <string>
#include <vector>

#include "api/json.hpp"
#include "api/quantity.hpp"

namespace runtime {

using ResourceList = std::map<std::string, api::Quantity>;

/// The defaults that the API server and the kubelet set.
struct PodDefaults {
    ResourceList requests = {};  ///< of a container, from the namespace's LimitRanges
    api::Json overhead = {};     ///< `overhead.podFixed` of the Pod's RuntimeClass; null if there is none
};

/// Reads LimitRanges, in any order. Skips invalid quantities.
ResourceList default_requests(const std::vector<api::Json>& observed);

/// Returns the resources that the scheduler reserves for one Pod: the higher of the sum of its containers and
/// the sum of an init container with the sidecars before it; or the Pod's own request; plus the overhead
/// (kubernetes.io/docs/concepts/workloads/pods/{init-containers,pod-overhead}). For a container without a
/// request its limit counts. The error's field is a path in the Pod's spec.
api::Result<ResourceList> pod_requests(const api::Json& pod_spec, const PodDefaults& defaults);

}  // namespace runtime
