#pragma once
#include <functional>

#include "caches.hpp"
#include "kube/api_server.hpp"
#include "kube/clock.hpp"
#include "net/log.hpp"

namespace reconciler {

/// Takes the finalizer of older controllers off runtimes, for ever, while `allowed`. Without them nobody else
/// would, and such a runtime could never be deleted. Jobs do not need it: they have their snapshots.
net::Task<> release_runtimes(kube::ApiServer& server, Caches& caches, kube::Clock& clock, net::Log& log,
                             std::function<bool()> allowed);

}  // namespace reconciler
