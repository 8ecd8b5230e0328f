#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"

namespace runtime {

/// Something that Kubernetes refuses in the resources of a container.
struct ResourceFault {
    std::string_view list = {};  ///< "limits" or "requests"
    std::string name = {};       ///< of the resource
    api::Json value = {};        ///< the name, or the quantity
    std::string rule = {};       ///< "must ..." or "is ..."

    /// "requests[gpu]"
    std::string place() const { return std::string(list) + "[" + name + "]"; }
};

/// Whether a node may promise more of it than it has, so that a limit may be above its request.
bool can_be_overcommitted(std::string_view name);

/// Finds names and quantities for which an API server creates neither the Pod nor its Job, whatever the
/// cluster offers. A limit below its request is not among them. `resources`: ResourceRequirements. What is
/// not a quantity at all is left to the schema. Facts: ValidateContainerResourceRequirements of Kubernetes
/// 1.36.
std::vector<ResourceFault> resource_faults(const api::Json& resources);

}  // namespace runtime
