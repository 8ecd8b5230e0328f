#pragma once
#include "resources/resources.hpp"
#include "runtime/build.hpp"

/// GPUs behind resource claims (Kubernetes' dynamic resource allocation, resource.k8s.io/v1), which no list
/// of resources shows.
namespace runtime {

/// The claims or templates of the node container, and the device classes that those name: not more than one
/// hundred in all, as each has to be read. Where there are more, the number is unknown.
void add_claim_needs(const CountedResources& counted, const std::string& ns,
                     const std::vector<api::Json>& observed, Needs& needs);

/// GPUs of one Pod: those among its resources, or if there are none those behind its claims. A device is a
/// GPU if the name of its class, or the extended resource that the class stands for, contains "gpu". An
/// object that was not observed leaves the number unknown.
GpuCount count_gpus(const CountedResources& counted, const std::string& ns,
                    const std::vector<api::Json>& observed);

}  // namespace runtime
