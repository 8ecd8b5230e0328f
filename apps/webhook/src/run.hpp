#pragma once
#include <chrono>
#include <functional>

#include "kube/client/config.hpp"
#include "net/process/async.hpp"
#include "settings.hpp"

namespace webhook {

/// Runs the process, from reading the kubeconfig to the orderly end after SIGTERM or SIGINT. Errors are those
/// of the start, with the remedy. An API server that does not answer yet is no error: the process serves, and
/// is not ready.
api::Result<> run(const Settings& settings);

/// Runs the process of --serve=progress, as run() does for admission.
api::Result<> run_progress(const Settings& settings, const kube::ClusterConfig& config);

/// Begins an orderly shutdown: continues to serve for `delay`, while the process is not ready and new clients
/// are routed elsewhere. Calls `close_after_response` before the last fifth of it, so that clients close kept
/// connections, and none is about to use a connection that is closed as idle.
net::Task<> serve_on(std::chrono::milliseconds delay, std::function<void()> close_after_response);

}  // namespace webhook
