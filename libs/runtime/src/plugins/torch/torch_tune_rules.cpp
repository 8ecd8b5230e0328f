// `torchtune_recipe`: valid combinations, by the recipes and configurations of torchtune 0.6.
#include <algorithm>

#include "plugins/torch/torch_tune.hpp"

namespace runtime {
namespace {

using api::FieldErrors;
using api::FieldErrorType;
using api::Json;

constexpr std::string_view supported_models[] = {"llama3_2/1B", "llama3_2/3B", "llama3_3/70B",
                                                 "qwen2_5/1.5B"};
constexpr std::string_view multi_node_model = "llama3_3/70B";
constexpr std::string_view model_without_qlora = "qwen2_5/1.5B";
constexpr std::string_view models_with_qlora_on_one_device[] = {"llama3_2/1B", "llama3_2/3B"};

bool is_among(const auto& models, std::string_view model) {
    return std::find(std::begin(models), std::end(models), model) != std::end(models);
}

class Rules {
public:
    Rules(const api::TrainJob& job, FieldErrors& errors)
        : job_(job), model_(tune_model(job.runtime_ref.name)), errors_(errors) {}

    void check_model() {
        if (is_among(supported_models, model_)) return;
        refuse("spec.runtimeRef.name", job_.runtime_ref.name,
               (model_.empty() ? "names no model" : "stands for the model " + model_) +
                   ", which torchtune cannot train: supported are torchtune-llama3.2-1b, -llama3.2-3b, "
                   "-llama3.3-70b and -qwen2.5-1.5b");
    }

    void check_nodes(std::int64_t nodes, const TuneMethod& method) {
        constexpr const char* field = "spec.trainer.numNodes";
        if (nodes <= 1) return;
        if (model_ != multi_node_model)
            refuse(field, nodes,
                   "must be 1: of the models only " + std::string(multi_node_model) +
                       " can be trained on several nodes");
        if (method.lora || method.quantized_lora)
            refuse(field, nodes, "must be 1: LoRA and QLoRA do not train on several nodes");
    }

    void check_quantized_lora(const TuneDevices* devices) {
        if (model_ == model_without_qlora)
            refuse("spec.runtimeRef.name", job_.runtime_ref.name,
                   "torchtune has no QLoRA for " + model_ + ": leave model.quantize_base out of the args");
        if (!devices || devices->is_single_device() || !is_among(models_with_qlora_on_one_device, model_))
            return;
        refuse("spec.trainer.numProcPerNode", devices->processes,
               "must be 1, or be left out with 1 GPU per node: QLoRA trains " + model_ + " on one device");
        refuse("spec.trainer.resourcesPerNode", devices->gpus.count,
               "must come to 1 GPU, or numProcPerNode be 1: QLoRA trains " + model_ + " on one device");
    }

    void check_args() {
        const auto& args = job_.spec["trainer"]["args"].items();
        for (std::size_t i = 0; i < args.size(); ++i)
            if (sets_runtime_path(args[i].as_string()))
                refuse("spec.trainer.args[" + std::to_string(i) + "]", args[i],
                       "must not be set: the runtime decides this path");
    }

private:
    void refuse(std::string field, Json value, std::string rule) {
        errors_.push_back({FieldErrorType::invalid,
                           std::move(field),
                           std::move(value),
                           std::move(rule),
                           {},
                           torch_tune_rule});
    }

    const api::TrainJob& job_;
    std::string model_;
    FieldErrors& errors_;
};

}  // namespace

void check_torch_tune(const api::TrainJob& job, std::int64_t nodes, const TuneDevices* devices,
                      FieldErrors& errors) {
    Rules rules(job, errors);
    const TuneMethod method = tune_method(job.spec["trainer"]["args"]);
    rules.check_model();
    rules.check_nodes(nodes, method);
    if (method.quantized_lora && nodes == 1) rules.check_quantized_lora(devices);
    rules.check_args();
}

}  // namespace runtime
