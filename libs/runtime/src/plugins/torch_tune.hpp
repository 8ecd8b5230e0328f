#pragma once
#include <string>

#include "runtime/info.hpp"

namespace runtime {

/// Whether the TrainJob asks for torchtune: its command is exactly `tune run`.
bool is_torch_tune(const api::Json& trainer);

/// The whole command: `tune run`, where the nodes meet, the recipe and its configuration for the model that
/// the runtime's name says, and the paths that the runtime's own command sets. `processes` are those per
/// node.
api::Json torch_tune_command(Info& info, std::int64_t nodes, const std::string& processes);

}  // namespace runtime
