#pragma once
#include <string>

#include "resources/resources.hpp"
#include "runtime/info.hpp"
#include "runtime/plugin.hpp"

namespace runtime {

/// What torchtune can train.
inline constexpr api::RuleId torch_tune_rule("torchtune_recipe", "J14");

/// Whether the TrainJob asks for torchtune: its command is exactly `tune run`.
bool is_torch_tune(const api::Json& trainer);

/// What decides about the recipe, besides the arguments. The build and the admission rules take it from the
/// same functions, so that what is judged is what is built.
struct TuneDevices {
    std::int64_t nodes = 1;
    std::string processes = {};  ///< per node: a number, "auto" or "gpu"
    GpuCount gpus = {};          ///< per node

    bool is_single_device() const { return processes == "1" || gpus.count == 1; }
};

/// How a model is trained, as the arguments say.
struct TuneMethod {
    bool quantized_lora = false;
    bool lora = false;
};
TuneMethod tune_method(const api::Json& args);

/// "torchtune-llama3.2-1b" -> "llama3_2/1B"; empty unless the runtime's name has three parts.
std::string tune_model(std::string_view runtime_name);

/// Whether a word of a command sets one of the paths that the runtime decides, such as "output_dir=/o".
bool sets_runtime_path(std::string_view word);

/// The whole command: `tune run`, where the nodes meet, the recipe and its configuration for the model that
/// the runtime's name says, and the paths that the runtime's own command sets.
api::Json torch_tune_command(Info& info, const TuneDevices& devices);

/// `torchtune_recipe`. `devices` is nullptr if they are not known; then they are not checked.
void check_torch_tune(const api::TrainJob& job, std::int64_t nodes, const TuneDevices* devices,
                      api::FieldErrors& errors);

}  // namespace runtime
