#pragma once
#include <optional>
#include <vector>

#include "api/json.hpp"
#include "api/resource.hpp"
#include "runtime/plugin.hpp"

namespace runtime {

/// PodGroups of Kubernetes' own scheduler.
inline constexpr api::Resource native_pod_groups = {"scheduling.k8s.io", "v1beta1", "podgroups", true,
                                                    "PodGroup"};

/// Returns where the PodGroup of the first of these Pods that has no node is to be looked up; nullopt if none
/// of them waits in one. The Pods of a TrainJob have one PodGroup.
std::optional<RelatedObjects> group_of_waiting(const std::vector<api::Json>& pods);

/// Gives Pods without a node the scheduling problem of their PodGroup: that of a Pod tells of one Pod alone,
/// and a Pod of a gang that is not complete has none.
void add_gang_problem(std::vector<api::Json>& pods, const std::vector<api::Json>& groups);

}  // namespace runtime
