#pragma once
#include "runtime/active_plugins.hpp"
#include "template/template.hpp"

namespace runtime {

/// Returns patched_template() with `spec.trainer.resourceClaimsPerNode` in the Pods that get
/// `resourcesPerNode`: claims of the Pod, which replace claims of the same name, and in the container "node"
/// a reference to each claim that it does not refer to yet.
api::Result<Template> merged_template(const api::Json& runtime, const api::Json& train_job_spec,
                                      const ActivePlugins& plugins);

}  // namespace runtime
