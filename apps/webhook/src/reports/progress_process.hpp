#pragma once
#include "kube/client/config.hpp"
#include "settings/settings.hpp"

namespace webhook {

/// Runs the process of --serve=progress, as run() does for admission.
api::Result<> run_progress(const Settings& settings, const kube::ClusterConfig& config);

}  // namespace webhook
