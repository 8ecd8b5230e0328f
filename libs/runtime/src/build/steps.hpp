#pragma once
#include "runtime/active_plugins.hpp"
#include "runtime/info.hpp"
#include "template/template.hpp"

/// The steps of a build that no plugin does. The first one is merged_template(). The others run after every
/// plugin's, so that the user's settings take precedence.
namespace runtime {

/// Returns patched_template() with `spec.trainer.resourceClaimsPerNode` in the Pods that get
/// `resourcesPerNode`: claims of the Pod, which replace claims of the same name, and in the container "node"
/// a reference to each claim that it does not refer to yet. Then follows Plugin::complete_template().
api::Result<Template> merged_template(const api::Json& runtime, const api::Json& train_job_spec,
                                      const ActivePlugins& plugins);

/// Applies `spec.trainer`: image, command, args and environment of the node container.
void configure_trainer(Info& info);

/// Sets Pod counts and single replicas.
void write_counts(Info& info);

/// Adds `spec.trainer.env` to a container, for frameworks that place their own variables before it, since it
/// may refer to them.
void add_trainer_env(const Info& info, api::Json& container);

}  // namespace runtime
