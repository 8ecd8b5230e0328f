#pragma once
#include "runtime/info.hpp"

/// The last steps before the JobSet is complete. They run after every plugin's, so that the user's settings
/// take precedence.
namespace runtime {

/// Applies `spec.trainer`: image, command, args and environment of the node container.
void configure_trainer(Info& info);

/// Sets Pod counts and single replicas.
void write_counts(Info& info);

/// Adds `spec.trainer.env` to a container, for frameworks that place their own variables before it, since it
/// may refer to them.
void add_trainer_env(const Info& info, api::Json& container);

}  // namespace runtime
