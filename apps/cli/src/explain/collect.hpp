#pragma once
#include "explain/report.hpp"
#include "kube/client/api_server.hpp"

namespace cli {

/// Reads what explain() tells of, and the lease of the reconcilers, with the permissions of the kubeconfig's
/// user. Fails only if the TrainJob itself cannot be read: with `not_found` if there is none; of anything
/// else that cannot be had, the part says why.
kube::Async<RelatedObjects> collect(kube::ApiServer& server, api::ObjectKey key, api::ObjectKey lease);

}  // namespace cli
