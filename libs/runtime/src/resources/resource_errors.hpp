#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"

namespace runtime {

/// A name or a quantity that Kubernetes refuses in the resources of a container. It has no path of an object,
/// and so is no api::FieldError: the resources of a container come from a runtime and a TrainJob, and
/// unusable_resources() finds the object and the field to name, by `list` and `name`.
struct ResourceError {
    std::string_view list = {};  ///< "limits" or "requests"
    std::string name = {};       ///< of the resource
    api::Json value = {};        ///< the name, or the quantity
    std::string rule = {};       ///< "must ..." or "is ..."

    /// "requests[gpu]"
    std::string place() const { return std::string(list) + "[" + name + "]"; }
};

/// Returns whether a node may promise more of the resource than it has, so that a limit may be above its
/// request.
bool can_be_overcommitted(std::string_view name);

/// Returns names and quantities for which an API server creates neither the Pod nor its Job, in any cluster.
/// A limit below its request is not among them. `resources`: ResourceRequirements. The schema refuses texts
/// that are no quantities. Source: ValidateContainerResourceRequirements of Kubernetes 1.36.
std::vector<ResourceError> resource_errors(const api::Json& resources);

}  // namespace runtime
