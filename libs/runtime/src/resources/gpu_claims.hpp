#pragma once
#include "resources/resources.hpp"
#include "runtime/build.hpp"

/// GPUs behind resource claims (Kubernetes' dynamic resource allocation, resource.k8s.io/v1), which no list
/// of resources contains.
namespace runtime {

/// Returns the claims or templates of the node container, and the device classes that those name: at most one
/// hundred in total, as each has to be read. If there are more, the number is unknown.
void add_claim_needs(const CountedResources& counted, const std::string& ns,
                     const std::vector<api::Json>& observed, Needs& needs);

/// Returns the GPUs of one Pod: those in its resources, or if there are none those behind its claims. A
/// device is a GPU if the name of its request, of its class, or of the class' extended resource contains
/// "gpu". If there are only parts of GPUs, they count as one. If an object was not observed, the number is
/// unknown, and so it is for claims of a Pod with a schedulingGroup, which may share them.
GpuCount count_gpus(const CountedResources& counted, const std::string& ns,
                    const std::vector<api::Json>& observed);

}  // namespace runtime
