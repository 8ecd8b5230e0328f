// torchtune's recipes and configurations: `tune ls` of torchtune 0.6.
#include "plugins/torch/torch_tune.hpp"

#include <algorithm>

#include "api/names.hpp"
#include "api/text.hpp"

namespace runtime {
namespace {

using api::Json;

// Settings of the runtime's own command that are kept, and that TrainJobs must not set: they are paths of its
// volumes.
constexpr std::string_view runtime_paths[] = {"output_dir", "tokenizer.path", "tokenizer.merges_file",
                                              "checkpointer.checkpoint_dir"};

std::string_view trimmed(std::string_view text) {
    const auto begin = text.find_first_not_of(" \t\n");
    return begin == text.npos ? std::string_view()
                              : text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

bool is_set_to_true(const Json& args, std::string_view setting) {
    return std::any_of(args.items().begin(), args.items().end(), [setting](const Json& arg) {
        const std::string_view text = arg.as_string();
        const auto equals = text.find('=');
        return equals != text.npos && text.substr(0, equals).find(setting) != text.npos &&
               api::to_lower(trimmed(text.substr(equals + 1))) == "true";
    });
}

struct Recipe {
    std::string_view name;
    std::string_view suffix;  // in the configuration's name
};

Recipe recipe_for(std::int64_t nodes, bool single_device, const TuneMethod& method) {
    if (nodes > 1) return {"full_finetune_distributed", "_full_multinode"};
    if (nodes < 1) return {"full_finetune_distributed", "_full"};  // without Pods it never runs
    if (single_device) {
        if (method.quantized_lora) return {"lora_finetune_single_device", "_qlora_single_device"};
        if (method.lora) return {"lora_finetune_single_device", "_lora_single_device"};
        return {"full_finetune_single_device", "_full_single_device"};
    }
    if (method.quantized_lora) return {"lora_finetune_distributed", "_qlora"};
    if (method.lora) return {"lora_finetune_distributed", "_lora"};
    return {"full_finetune_distributed", "_full"};
}

}  // namespace

bool is_torch_tune(const Json& trainer) {
    const auto& command = trainer["command"].items();
    return command.size() == 2 && command[0].as_string() == "tune" && command[1].as_string() == "run";
}

TuneMethod tune_method(const Json& args) {
    const bool lora = std::any_of(args.items().begin(), args.items().end(), [](const Json& arg) {
        return arg.as_string().find("model.lora_attn_modules") != std::string_view::npos;
    });
    return {is_set_to_true(args, "model.quantize_base") && !is_set_to_true(args, "model.use_dora"), lora};
}

std::string tune_model(std::string_view runtime_name) {
    const auto first = runtime_name.find('-');
    if (first == runtime_name.npos) return {};
    const auto second = runtime_name.find('-', first + 1);
    if (second == runtime_name.npos || runtime_name.find('-', second + 1) != runtime_name.npos) return {};
    std::string family(runtime_name.substr(first + 1, second - first - 1));
    std::replace(family.begin(), family.end(), '.', '_');
    return family + "/" + api::to_upper(runtime_name.substr(second + 1));
}

bool sets_runtime_path(std::string_view word) {
    const std::string_view setting = word.substr(0, word.find('='));
    return std::find(std::begin(runtime_paths), std::end(runtime_paths), setting) != std::end(runtime_paths);
}

Json torch_tune_command(Info& info, const TuneDevices& devices, const std::string& endpoint) {
    const bool torchrun_decides = devices.processes == "auto" || devices.processes == "gpu";
    const bool several_here =
        torchrun_decides ? devices.gpus.count > 1 || !devices.gpus.known : devices.processes != "1";

    Json command = Json::array({"tune", "run"});
    if (devices.nodes > 1 || several_here) command.push_back("--rdzv_endpoint=" + endpoint);
    const Recipe recipe =
        recipe_for(devices.nodes, devices.is_single_device(), tune_method(info.trainer["args"]));
    command.push_back(recipe.name);
    command.push_back("--config");
    command.push_back(tune_model(info.job.runtime_ref.name).append(recipe.suffix));

    const PodSet* pods = info.trainer_pod_set();
    const Json* node = pods ? info.container(*pods, api::node_container) : nullptr;
    if (!node) return command;
    for (const Json& word : (*node)["command"].items())
        if (sets_runtime_path(word.as_string())) command.push_back(word);
    return command;
}

}  // namespace runtime
