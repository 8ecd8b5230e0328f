#pragma once
#include "api/resource.hpp"

/// The PodGroup resources of coscheduling, Volcano and Kubernetes' own scheduler.
namespace test {

inline constexpr api::Resource pod_groups = {"scheduling.x-k8s.io", "v1alpha1", "podgroups", true,
                                             "PodGroup"};
inline constexpr api::Resource volcano_pod_groups = {"scheduling.volcano.sh", "v1beta1", "podgroups", true,
                                                     "PodGroup"};

inline constexpr api::Resource native_pod_groups = {"scheduling.k8s.io", "v1beta1", "podgroups", true,
                                                    "PodGroup"};

}  // namespace test
