#pragma once
#include "runtime/plugin.hpp"

namespace runtime {

/// The plugin that docs/plugins.md shows. No list of the tree names it or its kinds.
std::unique_ptr<Plugin> make_relay();

/// All plugins, and that one at its place: before the JobSet.
Pipeline pipeline_with_relay();

}  // namespace runtime
