#pragma once
#include "settings.hpp"

namespace reconciler {

/// The whole process, from reading the kubeconfig to the clean end after SIGTERM or SIGINT. Errors are those
/// of the start: they say what to mend. An API server that does not answer yet is no error; it is waited for.
api::Result<> run(const Settings& settings);

}  // namespace reconciler
