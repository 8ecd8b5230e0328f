// TrainJobs with torchtune: the errors of admission for model, nodes, devices and arguments.
#include "fixtures.hpp"
#include "runtime/validation.hpp"

using api::Json;

namespace {

constexpr const char* resources =
    "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0].resources";
constexpr const char* pod_claims =
    "spec.template.spec.replicatedJobs[0].template.spec.template.spec.resourceClaims";
constexpr const char* name = "spec.runtimeRef.name";
constexpr const char* nodes = "spec.trainer.numNodes";
constexpr const char* processes = "spec.trainer.numProcPerNode";
constexpr const char* per_node = "spec.trainer.resourcesPerNode";
constexpr const char* args = "spec.trainer.args";
constexpr const char* qlora = "[\"model.quantize_base=True\"]";
constexpr const char* lora = "[\"model.lora_attn_modules=[q_proj]\"]";
constexpr const char* one_gpu = "{limits: {nvidia.com/gpu: 1}}";
constexpr const char* four_gpus = "{limits: {nvidia.com/gpu: 4}}";
constexpr const char* one_device = "spec.trainer.numProcPerNode, spec.trainer.resourcesPerNode";

api::FieldErrors review(const std::vector<Change>& job_changes, const std::vector<Change>& runtime_changes) {
    const Json job = changed(
        changed(train_job(), {{"spec.trainer.command", "[tune, run]"}, {name, "torchtune-llama3.2-1b"}}),
        job_changes);
    const Json runtime = changed(changed(runtime_with("torch"), {{resources, one_gpu}}), runtime_changes);
    return runtime::validate_train_job({.object = job, .old_object = Json(), .runtime = &runtime}).errors;
}

}  // namespace

TEST_CASE("torchtune trains models for which it has recipes", "[admission]") {
    struct Case {
        const char* name;
        std::vector<Change> job;
        std::vector<Change> runtime;
        std::string want;  // fields
    };
    const Case cases[] = {
        {"a small model on one GPU", {}, {}, ""},
        {"another command is not torchtune's", {{"spec.trainer.command", "[tune]"}, {name, "other"}}, {}, ""},
        {"not without Torch", {{name, "torchtune-x-y"}}, {{"spec.mlPolicy", "{jax: {}}"}}, ""},

        {"llama3_2/3B", {{name, "torchtune-llama3.2-3b"}}, {}, ""},
        {"llama3_3/70B", {{name, "torchtune-llama3.3-70b"}}, {}, ""},
        {"qwen2_5/1.5B", {{name, "torchtune-qwen2.5-1.5b"}}, {}, ""},
        {"a model without recipes", {{name, "torchtune-gemma2-9b"}}, {}, name},
        {"no model in the name", {{name, "torchtune"}}, {}, name},
        {"a name of four parts", {{name, "my-torchtune-llama3.2-1b"}}, {}, name},

        {"a small model on two nodes", {{nodes, "2"}}, {}, nodes},
        {"the runtime's nodes count", {}, {{"spec.mlPolicy.numNodes", "2"}}, nodes},
        {"the TrainJob's nodes go first", {{nodes, "1"}}, {{"spec.mlPolicy.numNodes", "2"}}, ""},
        {"a large model on two nodes", {{name, "torchtune-llama3.3-70b"}, {nodes, "2"}}, {}, ""},
        {"LoRA on two nodes", {{name, "torchtune-llama3.3-70b"}, {nodes, "2"}, {args, lora}}, {}, nodes},
        {"QLoRA on two nodes", {{name, "torchtune-llama3.3-70b"}, {nodes, "2"}, {args, qlora}}, {}, nodes},
        {"QLoRA with a small model on two nodes",
         {{nodes, "2"}, {args, qlora}},
         {},
         "spec.trainer.numNodes, spec.trainer.numNodes"},
        {"an unknown model on two nodes",
         {{name, "torchtune-gemma2-9b"}, {nodes, "2"}},
         {},
         "spec.runtimeRef.name, spec.trainer.numNodes"},

        {"QLoRA on one GPU", {{args, qlora}}, {}, ""},
        {"QLoRA for Qwen", {{name, "torchtune-qwen2.5-1.5b"}, {args, qlora}}, {}, name},
        {"QLoRA for Qwen on several GPUs",
         {{name, "torchtune-qwen2.5-1.5b"}, {args, qlora}},
         {{resources, four_gpus}},
         name},
        {"QLoRA on four GPUs", {{args, qlora}}, {{resources, four_gpus}}, one_device},
        {"QLoRA for the other small model",
         {{name, "torchtune-llama3.2-3b"}, {args, qlora}},
         {{resources, four_gpus}},
         one_device},
        {"QLoRA for the large model",
         {{name, "torchtune-llama3.3-70b"}, {args, qlora}},
         {{resources, four_gpus}},
         ""},
        {"QLoRA on GPUs behind a claim, which admission does not count",
         {{args, qlora}},
         {{resources, "{claims: [{name: gpus}]}"}, {pod_claims, "[{name: gpus, resourceClaimName: gpus}]"}},
         ""},
        {"the same with one process",
         {{args, qlora}, {processes, "1"}},
         {{resources, "{claims: [{name: gpus}]}"}, {pod_claims, "[{name: gpus, resourceClaimName: gpus}]"}},
         ""},
        {"one process on four GPUs", {{args, qlora}, {processes, "1"}}, {{resources, four_gpus}}, ""},
        {"two processes on one GPU", {{args, qlora}, {processes, "2"}}, {}, ""},
        {"two processes on two GPUs",
         {{args, qlora}, {processes, "2"}, {per_node, "{limits: {nvidia.com/gpu: 2}}"}},
         {},
         one_device},
        {"the runtime's processes count",
         {{args, qlora}},
         {{resources, four_gpus}, {"spec.mlPolicy.torch.numProcPerNode", "1"}},
         ""},
        {"one CPU makes one process", {{args, qlora}}, {{resources, "{requests: {cpu: 1}}"}}, ""},
        {"two CPUs make two", {{args, qlora}}, {{resources, "{requests: {cpu: 2}}"}}, one_device},
        {"the TrainJob's resources merge over the template's",
         {{args, qlora}, {per_node, "{limits: {nvidia.com/gpu: 1}}"}},
         {{resources, "{limits: {nvidia.com/gpu: 4}, requests: {nvidia.com/gpu: 4}}"}},
         ""},
        {"GPUs of the template are not hidden by other resources",
         {{args, qlora}, {per_node, "{limits: {cpu: 1}}"}},
         {{resources, four_gpus}},
         one_device},
        {"of several kinds of GPUs the whole ones count",
         {{args, qlora}},
         {{resources, "{limits: {a.io/gpu-shared: 4, nvidia.com/gpu: 1}}"}},
         ""},
        {"patches do not hide GPUs",
         {{args, qlora}, {"spec.runtimePatches", "[{manager: a.io/x}]"}},
         {{resources, four_gpus}},
         one_device},

        {"true in any case", {{args, "[model.quantize_base=tRUE]"}}, {{resources, four_gpus}}, one_device},
        {"false is no QLoRA", {{args, "[model.quantize_base=false]"}}, {{resources, four_gpus}}, ""},
        {"DoRA is no QLoRA",
         {{args, "[model.quantize_base=true, model.use_dora=true]"}},
         {{resources, four_gpus}},
         ""},
        {"no DoRA leaves QLoRA",
         {{args, "[model.quantize_base=true, model.use_dora=false]"}},
         {{resources, four_gpus}},
         one_device},
        {"LoRA alone", {{args, lora}}, {{resources, four_gpus}}, ""},

        {"paths that the runtime sets, one by one",
         {{args,
           "[output_dir=/x, epochs=1, tokenizer.path=/t, checkpointer.checkpoint_dir=/c, "
           "tokenizer.merges_file]"}},
         {},
         "spec.trainer.args[0], spec.trainer.args[2], spec.trainer.args[3], spec.trainer.args[4]"},
        {"settings that only begin like them", {{args, "[output_dir_x=/x, tokenizer.path.y=/t]"}}, {}, ""},
        {"all of it, in order",
         {{name, "torchtune-gemma2-9b"},
          {nodes, "2"},
          {args, "[output_dir=/x, \"model.lora_attn_modules=[q]\"]"}},
         {},
         "spec.runtimeRef.name, spec.trainer.numNodes, spec.trainer.numNodes, spec.trainer.args[0]"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            std::string fields;
            for (const api::FieldError& error : review(c.job, c.runtime)) {
                fields += (fields.empty() ? "" : ", ") + error.field;
                CHECK(error.type == api::FieldErrorType::invalid);
                CHECK_FALSE(error.detail.empty());
            }
            CHECK(fields == c.want);
        }
    }
}

TEST_CASE("a patch that fails does not hide independent errors", "[admission]") {
    const char* secrets = "spec.template.spec.replicatedJobs[0].template.spec.template.spec.imagePullSecrets";
    const auto errors = review({{"spec.runtimePatches",
                                 "[{manager: a.io/x, trainingRuntimeSpec: {template: {spec: {replicatedJobs: "
                                 "[{name: node, template: "
                                 "{spec: {template: {spec: {imagePullSecrets: [{}]}}}}}]}}}}]"},
                                {nodes, "2"},
                                {args, qlora}},
                               {{secrets, "[{name: a}]"}});
    REQUIRE(errors.size() == 3);
    CHECK(errors[0].field == "spec.runtimePatches[0]");
    CHECK(errors[1].field == nodes);
    CHECK(errors[2].field == nodes);
}
