#include "fixtures.hpp"
#include "runtime/validation.hpp"

using api::Json;

namespace {

const char* const container =
    "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0]";

Json node_of(const std::vector<Change>& job, const std::vector<Change>& runtime) {
    const auto built = build_job_set(changed(train_job(), job), changed(runtime_with("torch"), runtime));
    if (!built) FAIL(built.error());
    return node_container(*built);
}

std::string processes(const Json& node) {
    for (const Json& entry : node["env"].items())
        if (entry["name"].as_string() == "PET_NPROC_PER_NODE") return std::string(entry["value"].as_string());
    return "none";
}

}  // namespace

TEST_CASE("torchrun's environment has the nodes that train together", "[runtime]") {
    const Json node = node_of({{"spec.trainer.numNodes", "4"}}, {});
    CHECK(env_text(node) ==
          "PET_NNODES=4 PET_NPROC_PER_NODE=1 PET_NODE_RANK=<field> "
          "PET_MASTER_ADDR=job-node-0-0.job PET_MASTER_PORT=29500");
    CHECK(node["env"][2]["valueFrom"]["fieldRef"]["fieldPath"] ==
          "metadata.annotations['batch.kubernetes.io/job-completion-index']");
    CHECK(node["ports"] == tree("[{containerPort: 29500}]"));
}

TEST_CASE("one node finds itself without DNS where the runtime says so", "[runtime]") {
    struct Case {
        const char* name;
        std::vector<Change> job;
        std::vector<Change> runtime;
        const char* want;
    };
    const char* const address = "spec.mlPolicy.torch.singleNodeAddress";
    const Change loopback = {address, "Loopback"};
    const Case cases[] = {
        {"unset", {}, {}, "PET_MASTER_ADDR=job-node-0-0.job"},
        {"by the host name", {}, {{address, "HostName"}}, "PET_MASTER_ADDR=job-node-0-0.job"},
        {"by loopback", {}, {loopback}, "PET_MASTER_ADDR=127.0.0.1"},
        {"several nodes", {{"spec.trainer.numNodes", "2"}}, {loopback}, "PET_MASTER_ADDR=job-node-0-0.job"},
        {"an elastic node",
         {},
         {loopback, {"spec.mlPolicy.torch.elasticPolicy", "{minNodes: 1, maxNodes: 2}"}},
         "PET_RDZV_ENDPOINT=job-node-0-0.job:29500"},
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            const std::string text = env_text(node_of(c.job, c.runtime));
            CAPTURE(text);
            CHECK((text + " ").find(std::string(c.want) + " ") != std::string::npos);
            CHECK((text.find("127.0.0.1") != std::string::npos) ==
                  (std::string(c.want).find("127.0.0.1") != std::string::npos));
        }
}

TEST_CASE("containers beside the only node share its loopback, and those of other jobs do not", "[runtime]") {
    const auto built = build_job_set(
        train_job(),
        changed(runtime_with("torch"),
                {{"spec.mlPolicy.torch",
                  "{singleNodeAddress: Loopback, envInjection: {targets: [{jobName: node, containerNames: "
                  "[beside]}, {jobName: other, containerNames: [far]}]}}"},
                 {"spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[1]",
                  "{name: beside, image: i}"},
                 {"spec.template.spec.replicatedJobs[1]",
                  "{name: other, template: {spec: {template: {spec: {containers: [{name: far, image: "
                  "i}]}}}}}"}}));
    if (!built) FAIL(built.error());
    const Json& jobs = (*built)["spec"]["replicatedJobs"];
    const auto master = [&](std::size_t job, std::size_t which) {
        const Json& each = jobs[job]["template"]["spec"]["template"]["spec"]["containers"][which];
        return env_text(each).find("PET_MASTER_ADDR=127.0.0.1") != std::string::npos;
    };
    CHECK(master(0, 0));
    CHECK(master(0, 1));
    CHECK_FALSE(master(1, 0));
}

TEST_CASE("the environment is set for any trainer", "[runtime]") {
    for (const char* trainer :
         {"null", "{}", "{image: i}", "{env: [{name: A, value: b}]}", "{command: [tune]}"}) {
        DYNAMIC_SECTION(trainer) {
            CHECK(env_text(node_of({{"spec.trainer", trainer}}, {})).find("PET_NNODES=1 ") !=
                  std::string::npos);
        }
    }
}

TEST_CASE("the runtime's variables stay in place, then come the user's, then torch's", "[runtime]") {
    const Json node =
        node_of({{"spec.trainer.env", "[{name: U, value: u}, {name: R, value: v}]"}},
                {{container,
                  "{name: node, image: i, env: [{name: PET_NNODES, value: stale}, {name: R, value: r}]}"}});
    CHECK(env_text(node) ==
          "PET_NNODES=1 R=v U=u PET_NPROC_PER_NODE=1 PET_NODE_RANK=<field> "
          "PET_MASTER_ADDR=job-node-0-0.job PET_MASTER_PORT=29500");
}

TEST_CASE("processes per node", "[runtime]") {
    struct Case {
        const char* name;
        std::vector<Change> job;
        std::vector<Change> runtime;
        const char* want;
    };
    const std::string resources = std::string(container) + ".resources";
    const char* policy = "spec.mlPolicy.torch.numProcPerNode";
    const Change eight_gpus = {resources.c_str(), "{limits: {nvidia.com/gpu: 8, cpu: 32}}"};
    const Change cpus = {resources.c_str(), "{requests: {cpu: 2500m}}"};
    const Case cases[] = {
        {"one without resources", {}, {}, "1"},
        {"auto with GPUs", {}, {eight_gpus}, "auto"},
        {"as many as CPUs without", {}, {cpus}, "3"},
        {"as many as the TrainJob says", {{"spec.trainer.numProcPerNode", "5"}}, {eight_gpus}, "5"},
        {"GPUs of the runtime count beside CPUs of the TrainJob",
         {{"spec.trainer.resourcesPerNode", "{limits: {cpu: 4}}"}},
         {eight_gpus},
         "auto"},
        {"GPUs of the TrainJob count",
         {{"spec.trainer.resourcesPerNode", "{limits: {nvidia.com/gpu: 1}}"}},
         {cpus},
         "auto"},
        {"the runtime says a number", {}, {eight_gpus, {policy, "3"}}, "3"},
        {"the runtime says gpu", {}, {{policy, "gpu"}}, "gpu"},
        {"the runtime says cpu", {}, {eight_gpus, {policy, "cpu"}}, "32"},
        {"the runtime says auto", {}, {cpus, {policy, "auto"}}, "3"},
        {"the TrainJob beats the runtime's number",
         {{"spec.trainer.numProcPerNode", "5"}},
         {{policy, "3"}},
         "5"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) { CHECK(processes(node_of(c.job, c.runtime)) == c.want); }
    }
    const auto nonsense = build_job_set(train_job(), changed(runtime_with("torch"), {{policy, "many"}}));
    REQUIRE_FALSE(nonsense);
    CHECK(nonsense.error().field == policy);
}

TEST_CASE("numProcPerNode: gpu beside devices that torchrun does not find has a warning with their number",
          "[admission]") {
    const auto warned = [](const char* limits, const char* of_runtime = "gpu",
                           const std::vector<Change>& of_job = {}) {
        const Json runtime =
            changed(runtime_with("torch"), {{"spec.mlPolicy.torch.numProcPerNode", of_runtime}});
        Json job = changed(train_job(), of_job);
        at(job, "spec.trainer.resourcesPerNode") = tree("{limits: {cpu: 8, " + std::string(limits) + "}}");
        const auto found = runtime::validate_train_job({.object = job, .runtime = &runtime});
        std::string text;
        for (const api::Warning& warning : found.warnings) {
            CHECK(warning.rule == api::RuleId("torch_gpu_processes"));
            text += warning.text;
        }
        return text;
    };
    const auto set_to = [](const char* number) {
        return std::string(
                   "the runtime has numProcPerNode: gpu, with which torchrun finds devices of CUDA and ROCm "
                   "alone, "
                   "and ends: set spec.trainer.numProcPerNode to ") +
               number;
    };
    CHECK(warned("habana.ai/gaudi: 8") == set_to("8"));
    CHECK(warned("aws.amazon.com/neuroncore: 2") == set_to("2"));
    CHECK(warned("huawei.com/Ascend910: 4") == set_to("4"));
    CHECK(warned("gpu.intel.com/i915: 2") == set_to("2"));
    CHECK(warned("google.com/tpu: 4") == set_to("1"));
    for (const char* fine : {"nvidia.com/gpu: 8", "amd.com/gpu: 8", "nvidia.com/mig-1g.5gb: 1",
                             "nvidia.com/gpu: 1, habana.ai/gaudi: 1", "memory: 1Gi"})
        CHECK(warned(fine).empty());
    for (const char* other : {"auto", "cpu", "2"}) CHECK(warned("habana.ai/gaudi: 8", other).empty());
    CHECK(warned("habana.ai/gaudi: 8", "gpu", {{"spec.trainer.numProcPerNode", "8"}}).empty());
}

TEST_CASE("the master is the first Pod that trains, under the JobSet's subdomain", "[runtime]") {
    const Json runtime =
        changed(runtime_with("torch"), {{"spec.template.spec.network.subdomain", "net"},
                                        {"spec.template.spec.replicatedJobs[0].name", "worker"}});
    const Json job_set = build_job_set(train_job(), runtime).value();
    CHECK(to_json(job_set).find(R"("PET_MASTER_ADDR","value":"job-worker-0-0.net")") != std::string::npos);
}

TEST_CASE("without a container called node only the count changes", "[runtime]") {
    const Json runtime = changed(runtime_with("torch"), {{container, "{name: other, image: i}"}});
    const Json job_set =
        build_job_set(changed(train_job(), {{"spec.trainer.numNodes", "2"}}), runtime).value();
    CHECK(
        job_set["spec"]["replicatedJobs"][0]["template"]["spec"] ==
        tree("{parallelism: 2, completions: 2, template: {spec: {containers: [{name: other, image: i}]}}}"));
}

TEST_CASE("other containers get the environment if the runtime names them", "[runtime]") {
    const std::string everything =
        "PET_NNODES=1 PET_NPROC_PER_NODE=1 PET_NODE_RANK=<field> "
        "PET_MASTER_ADDR=job-node-0-0.job PET_MASTER_PORT=29500";
    const Json runtime = changed(
        runtime_with("torch"),
        {{"spec.mlPolicy.torch.envInjection.targets",
          "[{jobName: node, containerNames: [both, init, side]}, {jobName: check, containerNames: [check]}]"},
         {"spec.template.spec.replicatedJobs[1]",
          "{name: check, template: {spec: {template: {spec: {containers: [{name: check, image: i}]}}}}}"},
         {"spec.template.spec.replicatedJobs[0].template.spec.template.spec",
          "{containers: [{name: node, image: i}, {name: side, image: i, env: [{name: PET_NNODES, value: "
          "stale}]}, "
          "{name: both, image: i}], "
          "initContainers: [{name: init, image: i}, {name: both, image: i}]}"}});
    for (const char* trainer : {"null", "{command: [tune, run]}"}) {
        DYNAMIC_SECTION(trainer) {
            const Json job_set =
                build_job_set(changed(train_job(), {{"spec.trainer", trainer}}), runtime).value();
            const Json& pod = job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"];
            CHECK(env_text(pod["containers"][1]) == everything);
            CHECK(env_text(pod["containers"][2]) == everything);
            CHECK(env_text(pod["initContainers"][0]) == everything);
            CHECK(env_text(pod["initContainers"][1]).empty());  // a container of the same name comes first
            CHECK(pod["containers"][1]["ports"].is_null());
            const Json& check = job_set["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"];
            CHECK(env_text(check["containers"][0]) == everything);
        }
    }
}

TEST_CASE("containers that the runtime names get the environment even where no job trains", "[runtime]") {
    const Json node =
        node_of({{"spec.trainer.numNodes", "3"}},
                {{"spec.template.spec.replicatedJobs[0].template.metadata", "{}"},
                 {"spec.mlPolicy.torch.envInjection.targets", "[{jobName: node, containerNames: [node]}]"}});
    CHECK(env_text(node) ==
          "PET_NNODES=1 PET_NPROC_PER_NODE=1 PET_NODE_RANK=<field> PET_MASTER_ADDR=job-node-0-0.job "
          "PET_MASTER_PORT=29500");
    CHECK(node["ports"].is_null());
}

// No Pod is called job-node-0-0 in that case.
TEST_CASE("where no job trains or is called node, a target is its own master", "[runtime]") {
    const Json runtime = changed(
        runtime_with("torch"),
        {{"spec.mlPolicy.torch.envInjection.targets",
          "[{jobName: check, containerNames: [main]}, {jobName: other, containerNames: [main]}]"},
         {"spec.template.spec.network.subdomain", "net"},
         {"spec.template.spec.replicatedJobs",
          "[{name: check, template: {spec: {template: {spec: {containers: [{name: main, image: i}]}}}}}, "
          "{name: other, template: {spec: {template: {spec: {initContainers: [{name: main, image: "
          "i}]}}}}}]"}});
    const Json job_set = build_job_set(train_job(), runtime).value();
    const auto pod = [&](std::size_t job) -> const Json& {
        return job_set["spec"]["replicatedJobs"][job]["template"]["spec"]["template"]["spec"];
    };
    CHECK(env_text(pod(0)["containers"][0]).find("PET_MASTER_ADDR=job-check-0-0.net ") != std::string::npos);
    CHECK(env_text(pod(1)["initContainers"][0]).find("PET_MASTER_ADDR=job-other-0-0.net ") !=
          std::string::npos);
}

TEST_CASE("an unknown target of the environment is an error", "[runtime]") {
    struct Case {
        const char* targets;
        const char* field;
    };
    const Case cases[] = {
        {"[{jobName: ghost, containerNames: [node]}]", "spec.mlPolicy.torch.envInjection.targets[0].jobName"},
        {"[{jobName: node, containerNames: [node, ghost]}]",
         "spec.mlPolicy.torch.envInjection.targets[0].containerNames[1]"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.targets) {
            const auto built = build_job_set(
                train_job(),
                changed(runtime_with("torch"), {{"spec.mlPolicy.torch.envInjection.targets", c.targets}}));
            REQUIRE_FALSE(built);
            CHECK(built.error().field == c.field);
        }
    }
}

TEST_CASE("torch does nothing where no job trains and no container is named", "[torch]") {
    CHECK(node_without_trainer("torch") == tree("{name: node, image: \"train:1\"}"));
}
