#pragma once
#include "kube/client/credential_plugin.hpp"

namespace cli {

/// Runs the credential plugins of kubeconfigs as processes, for ten minutes at most, since a user may have to
/// log in. `clock` must outlive it.
kube::PluginHost plugin_host(kube::Clock& clock);

}  // namespace cli
