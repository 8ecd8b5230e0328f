#pragma once
#include "controller/reconcile/observe.hpp"

namespace controller {

/// The newest Warning event about the start of the JobSet of a view, or of a Job of the replicated job that
/// lacks its Pods; "" if there is none. Restarts of the JobSet are no reason. Where events cannot be read, it
/// says so.
kube::Async<std::string> start_events(kube::ApiServer& server, const View& view);

}  // namespace controller
