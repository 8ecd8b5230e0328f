#pragma once
#include "kube/client/config.hpp"
#include "settings.hpp"

namespace webhook {

/// The whole process of --serve=progress, as run() is that of admission.
api::Result<> run_progress(const Settings& settings, const kube::ClusterConfig& config);

}  // namespace webhook
