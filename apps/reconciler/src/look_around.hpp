#pragma once
#include "explanation.hpp"
#include "kube/api_server.hpp"

namespace reconciler {

/// Reads what explain() tells of, as whoever the API server takes us for. Fails only if the TrainJob itself
/// cannot be read: with `not_found` if there is none; of anything else that cannot be had, the part says why.
kube::Async<Surroundings> look_around(kube::ApiServer& server, api::ObjectKey key);

}  // namespace reconciler
