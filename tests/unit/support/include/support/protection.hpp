#pragma once
#include "api/resource.hpp"

/// The kinds that protect the Pods of a job.
namespace test {

inline constexpr api::Resource disruption_budgets = {"policy", "v1", "poddisruptionbudgets", true,
                                                     "PodDisruptionBudget"};
inline constexpr api::Resource network_policies = {"networking.k8s.io", "v1", "networkpolicies", true,
                                                   "NetworkPolicy"};

}  // namespace test
