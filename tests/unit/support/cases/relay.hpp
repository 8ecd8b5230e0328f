#pragma once
#include "runtime/plugin.hpp"

namespace runtime {

/// The plugin of docs/plugins.md. No list of the source tree names it or its kinds.
std::unique_ptr<Plugin> make_relay();

/// Returns all plugins, with this one before the JobSet.
Pipeline pipeline_with_relay();

}  // namespace runtime
