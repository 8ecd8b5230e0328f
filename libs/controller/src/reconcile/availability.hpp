#pragma once
#include "controller/reconcile/runtime_reads.hpp"
#include "lifecycle/observed.hpp"

namespace controller {

/// Reads the Lease of the server of reports. Concurrent reconciles share reads.
kube::Async<lifecycle::Availability> read_availability(kube::ApiServer& server, RuntimeReads& reads,
                                                       api::ObjectKey lease);

}  // namespace controller
