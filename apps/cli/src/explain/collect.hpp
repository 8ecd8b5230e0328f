#pragma once
#include "explain/objects.hpp"
#include "kube/client/api_server.hpp"

namespace cli {

/// Reads the objects for explanation_of() and the lease of the reconcilers, with the permissions of the
/// kubeconfig's user. Fails only if the TrainJob itself cannot be read: with `not_found` if there is none.
/// For any other unreadable object, its part has the reason.
kube::Async<RelatedObjects> collect(kube::ApiServer& server, api::ObjectKey key, api::ObjectKey lease);

}  // namespace cli
