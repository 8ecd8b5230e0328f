#include "fixtures.hpp"

using api::Json;

namespace {

const char* const container =
    "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0]";

// Returns the built command of `tune run`, its words joined by spaces.
std::string command(const std::vector<Change>& job, const std::vector<Change>& runtime) {
    Json train = changed(train_job(), {{"spec.trainer.command", "[tune, run]"},
                                       {"spec.runtimeRef.name", "torchtune-llama3.2-1b"}});
    const auto built = build_job_set(changed(train, job), changed(runtime_with("torch"), runtime));
    if (!built) FAIL(built.error());
    std::string text;
    for (const Json& word : node_container(*built)["command"].items())
        text += (text.empty() ? "" : " ") + std::string(word.as_string());
    return text;
}

constexpr const char* one_gpu = "{limits: {nvidia.com/gpu: 1}}";
constexpr const char* two_gpus = "{limits: {nvidia.com/gpu: 2}}";
constexpr const char* lora = "[\"model.lora_attn_modules=[q_proj]\"]";
constexpr const char* qlora = "[\"model.quantize_base= True \"]";
constexpr const char* rendezvous = "--rdzv_endpoint=job-node-0-0.job:29500 ";

}  // namespace

TEST_CASE("torchtune's recipe follows nodes, devices and method", "[runtime]") {
    struct Case {
        const char* name;
        const char* nodes;
        const char* resources;
        const char* args;
        bool meets;
        const char* want;
    };
    const Case cases[] = {
        {"one device, everything", "1", one_gpu, "[]", false,
         "full_finetune_single_device --config llama3_2/1B_full_single_device"},
        {"one device, LoRA", "1", one_gpu, lora, false,
         "lora_finetune_single_device --config llama3_2/1B_lora_single_device"},
        {"one device, QLoRA", "1", one_gpu, qlora, false,
         "lora_finetune_single_device --config llama3_2/1B_qlora_single_device"},
        {"two devices, everything", "1", two_gpus, "[]", true,
         "full_finetune_distributed --config llama3_2/1B_full"},
        {"two devices, LoRA", "1", two_gpus, lora, true,
         "lora_finetune_distributed --config llama3_2/1B_lora"},
        {"two devices, QLoRA", "1", two_gpus, qlora, true,
         "lora_finetune_distributed --config llama3_2/1B_qlora"},
        {"two nodes", "2", one_gpu, lora, true,
         "full_finetune_distributed --config llama3_2/1B_full_multinode"},
        {"no node", "0", one_gpu, qlora, false, "full_finetune_distributed --config llama3_2/1B_full"},
        {"one CPU", "1", "{requests: {cpu: 1}}", "[]", false,
         "full_finetune_single_device --config llama3_2/1B_full_single_device"},
        {"two CPUs", "1", "{requests: {cpu: 2}}", "[]", true,
         "full_finetune_distributed --config llama3_2/1B_full"},
        {"DoRA turns QLoRA off", "1", one_gpu, "[model.quantize_base=true, model.use_dora=true]", false,
         "full_finetune_single_device --config llama3_2/1B_full_single_device"},
        {"a false flag is none", "1", one_gpu, "[model.quantize_base=false]", false,
         "full_finetune_single_device --config llama3_2/1B_full_single_device"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const std::string resources = std::string(container) + ".resources";
            const std::string want = std::string("tune run ") + (c.meets ? rendezvous : "") + c.want;
            CHECK(command({{"spec.trainer.numNodes", c.nodes}, {"spec.trainer.args", c.args}},
                          {{resources.c_str(), c.resources}}) == want);
        }
    }
}

TEST_CASE("one process needs no rendezvous, however many GPUs there are", "[runtime]") {
    const std::string resources = std::string(container) + ".resources";
    CHECK(command({{"spec.trainer.numProcPerNode", "1"}}, {{resources.c_str(), two_gpus}}) ==
          "tune run full_finetune_single_device --config llama3_2/1B_full_single_device");
}

TEST_CASE("the model is read from the runtime's name", "[runtime]") {
    struct Case {
        const char* runtime;
        const char* want;
    };
    const Case cases[] = {
        {"torchtune-llama3.2-1b", "llama3_2/1B_full_single_device"},
        {"torchtune-qwen2.5-1.5b", "qwen2_5/1.5B_full_single_device"},
        {"torchtune", "_full_single_device"},
        {"torchtune-llama3.2", "_full_single_device"},
        {"torchtune-llama3.2-1b-mine", "_full_single_device"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.runtime) {
            CHECK(command({{"spec.runtimeRef.name", c.runtime}}, {}) ==
                  std::string("tune run full_finetune_single_device --config ") + c.want);
        }
    }
}

TEST_CASE("paths of the runtime's command are kept, the rest is replaced", "[runtime]") {
    const std::string words = std::string(container) + ".command";
    CHECK(command({}, {{words.c_str(),
                        "[tune, run, tokenizer.path=/t, other=x, output_dir=/o, output_directory=/p]"}}) ==
          "tune run full_finetune_single_device --config llama3_2/1B_full_single_device tokenizer.path=/t "
          "output_dir=/o");
}

TEST_CASE("torchtune needs no master's address, and keeps the arguments", "[runtime]") {
    const std::string args = std::string(container) + ".args";
    const Json runtime = changed(runtime_with("torch"), {{args.c_str(), "[a=b]"}});
    const Json job = changed(train_job(), {{"spec.trainer.command", "[tune, run]"}});
    const Json built = build_job_set(job, runtime).value();
    CHECK(env_text(node_container(built)) == "PET_NNODES=1 PET_NPROC_PER_NODE=1 PET_NODE_RANK=<field>");
    CHECK(node_container(built)["args"] == tree("[a=b]"));
    const Json other = build_job_set(changed(job, {{"spec.trainer.args", "[c=d]"}}), runtime).value();
    CHECK(node_container(other)["args"] == tree("[c=d]"));
}
