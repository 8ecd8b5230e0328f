#pragma once
#include <functional>

#include "controller/cache/cache.hpp"
#include "kube/client/api_server.hpp"
#include "kube/client/clock.hpp"
#include "net/process/log.hpp"

namespace controller {

/// Removes the finalizer of older controllers from runtimes while `allowed`, until it is cancelled. No other
/// program removes it, and without that such a runtime could never be deleted. Jobs do not need it: they have
/// their snapshots.
net::Task<> release_runtimes(kube::ApiServer& server, Cache& cache, kube::Clock& clock, net::Log& log,
                             std::function<bool()> allowed);

}  // namespace controller
