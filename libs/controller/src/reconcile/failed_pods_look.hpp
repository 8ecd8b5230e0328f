#pragma once
#include <optional>

#include "api/job_set.hpp"
#include "kube/client/api_server.hpp"
#include "lifecycle/failed_pods.hpp"

namespace controller {

/// Returns the first of the failed Pods of a JobSet; nullopt if none is left. Of many it reads the first
/// pages. References must live until the coroutine ends.
kube::Async<std::optional<lifecycle::FailedPod>> look_at_failed_pods(kube::ApiServer& server,
                                                                     const api::JobSet& job_set);

/// Returns whether a Pod of the JobSet has no node. References must live until the coroutine ends.
kube::Async<bool> lacks_pod_a_node(kube::ApiServer& server, const api::JobSet& job_set);

}  // namespace controller
