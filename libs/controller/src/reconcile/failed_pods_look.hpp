#pragma once
#include <optional>

#include "api/failure.hpp"
#include "api/job_set.hpp"
#include "kube/client/api_server.hpp"

namespace controller {

/// Returns the first of the failed Pods of a JobSet; nullopt if none is left. Of many it reads the first
/// pages. References must live until the coroutine ends.
kube::Async<std::optional<api::Failure>> look_at_failed_pods(kube::ApiServer& server,
                                                             const api::JobSet& job_set);

}  // namespace controller
