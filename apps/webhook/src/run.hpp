#pragma once
#include "kube/client/config.hpp"
#include "settings.hpp"

namespace webhook {

/// Runs the process, from reading the kubeconfig to the orderly end after SIGTERM or SIGINT. Errors are those
/// of the start, with the remedy. An API server that does not answer yet is no error: the process serves, and
/// is not ready.
api::Result<> run(const Settings& settings);

/// Runs the process of --serve=progress, as run() does for admission.
api::Result<> run_progress(const Settings& settings, const kube::ClusterConfig& config);

}  // namespace webhook
