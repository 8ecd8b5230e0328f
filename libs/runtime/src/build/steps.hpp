#pragma once
#include "runtime/info.hpp"

/// The last steps before the JobSet is put together; they come after every plugin's, so that what the user
/// asks for wins.
namespace runtime {

/// `spec.trainer`: image, command, args and environment of the node container.
void configure_trainer(Info& info);

/// Pod counts and single replicas.
void write_counts(Info& info);

/// `spec.trainer.env` into a container, for frameworks whose own variables refer to it and so must come
/// later.
void add_trainer_env(const Info& info, api::Json& container);

}  // namespace runtime
