#pragma once
#include "settings/settings.hpp"

namespace webhook {

/// Runs the process, from reading the kubeconfig to the orderly end after SIGTERM or SIGINT. Errors are those
/// of the start, with the remedy. An API server that does not answer yet is no error: the process serves, and
/// is not ready.
api::Result<> run(const Settings& settings);

}  // namespace webhook
