#pragma once
#include "settings.hpp"

namespace webhook {

/// The whole process, from reading the kubeconfig to the clean end after SIGTERM or SIGINT. Errors are those
/// of the start: they say what to mend. An API server that does not answer yet is no error: the process
/// serves, and is not ready.
api::Result<> run(const Settings& settings);

}  // namespace webhook
