#pragma once
#include <string>

#include "resources/resources.hpp"
#include "runtime/info.hpp"
#include "runtime/plugin.hpp"

namespace runtime {

/// The combinations that torchtune can train.
inline constexpr api::RuleId torch_tune_rule("torchtune_recipe");

/// Returns whether the TrainJob uses torchtune: its command is exactly `tune run`.
bool is_torch_tune(const api::Json& trainer);

/// The inputs for the choice of the recipe, besides the arguments. The build and the admission rules use the
/// same functions, so that the checked values are the built ones.
struct TuneDevices {
    std::int64_t nodes = 1;
    std::string processes = {};  ///< per node: a number, "auto" or "gpu"
    DeviceCount gpus = {};       ///< per node

    bool is_single_device() const { return processes == "1" || gpus.count == 1; }
};

/// The training method, from the arguments.
struct TuneMethod {
    bool quantized_lora = false;
    bool lora = false;
};
TuneMethod tune_method(const api::Json& args);

/// Returns "llama3_2/1B" for "torchtune-llama3.2-1b"; empty unless the runtime's name has three parts.
std::string tune_model(std::string_view runtime_name);

/// Returns whether a word of a command sets one of the runtime's paths, such as "output_dir=/o".
bool sets_runtime_path(std::string_view word);

/// Returns the whole command: `tune run`, the rendezvous of the nodes at `endpoint` ("host:port"), the recipe
/// and its configuration for the model in the runtime's name, and the paths of the runtime's own command.
api::Json torch_tune_command(Info& info, const TuneDevices& devices, const std::string& endpoint);

/// Adds errors of the rule `torchtune_recipe`. `devices` nullptr: unknown, and not checked.
void check_torch_tune(const api::TrainJob& job, std::int64_t nodes, const TuneDevices* devices,
                      api::FieldErrors& errors);

}  // namespace runtime
