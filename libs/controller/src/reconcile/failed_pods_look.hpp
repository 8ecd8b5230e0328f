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

/// Returns when the oldest Pod of the JobSet was created that avoids one of its excluded nodes and has no
/// node. References must live until the coroutine ends.
kube::Async<std::optional<api::Time>> waits_for_node_since(kube::ApiServer& server,
                                                           const api::JobSet& job_set);

}  // namespace controller
