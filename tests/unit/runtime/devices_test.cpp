// What names of resources and of device classes mean, for every framework.
#include "runtime/devices.hpp"

#include "gpu_claims.hpp"
#include "runtime/plugin.hpp"

using runtime::DeviceTable;
using runtime::DeviceUnit;

namespace {

DeviceTable table_of(std::string_view rows) {
    DeviceTable table;
    REQUIRE(runtime::read_option(rows, table));
    return table;
}

// Returns what is built on two nodes: "torch 8, mpi 8, flux 8, xgboost 16, jax 2", and the events; of
// torchtune, on one node, whether its recipe is for a single device or for several.
std::string built_of(const Json& resources, const Objects& observed = {},
                     const DeviceTable& table = DeviceTable()) {
    const runtime::Pipeline pipeline = runtime::make_pipeline({.devices = table});
    const api::TrainJob two_nodes =
        api::parse_train_job(changed(train_job(), {{"spec.trainer.numNodes", "2"}}));
    const api::TrainJob tune =
        api::parse_train_job(changed(train_job(), {{"spec.trainer.command", "[tune, run]"}}));
    std::string text;
    for (const std::string framework : {"torch", "torchtune", "mpi", "flux", "xgboost", "jax"}) {
        const bool tunes = framework == "torchtune";
        const api::TrainJob& job = tunes ? tune : two_nodes;
        const char* const policy = tunes ? "torch" : framework.c_str();
        Json runtime = resources["claims"].is_null() ? runtime_with(policy) : runtime_with_claim(policy);
        at(runtime, pod)["containers"].items()[0]["resources"] = resources;
        const auto built = runtime::build({.job = job, .runtime = runtime, .observed = observed}, pipeline);
        if (!built) return built.error().field + ": " + built.error().message;
        text += (text.empty() ? "" : ", ") + framework + " ";
        if (tunes) {
            const std::string command = to_json(node_container(built->objects.back().object)["command"]);
            text += command.find("single_device") == command.npos ? "several" : "single";
            continue;
        }
        for (const Json& variable : node_container(built->objects.back().object)["env"].items())
            for (const char* name : {"PET_NPROC_PER_NODE", "DMLC_NUM_WORKER", "JAX_NUM_PROCESSES"})
                if (variable["name"] == name) text += variable["value"].as_string();
        for (const runtime::BuiltObject& each : built->objects) {
            const std::string hosts(each.object["data"]["hostfile"].as_string());
            if (!hosts.empty())
                text += hosts.substr(hosts.rfind('=') + 1, hosts.size() - hosts.rfind('=') - 2);
            const std::string script(each.object["data"]["entrypoint.sh"].as_string());
            const auto option = script.find("-g '");
            if (option != script.npos)
                text += script.substr(option + 4, script.find('\'', option + 4) - option - 4);
            if (option == script.npos && !script.empty()) text += "none";
        }
        for (const runtime::BuildWarning& notice : built->warnings) text += " (" + notice.reason + ")";
    }
    return text;
}

std::string of(const char* torch, int each) {
    const std::string count = std::to_string(std::max(each, 1));
    const bool single = each == 1 || torch == std::string_view("1");
    return std::string("torch ") + torch + ", torchtune " + (single ? "single" : "several") + ", mpi " +
           count + ", flux " + (each > 0 ? count : "none") + ", xgboost " +
           std::to_string(2 * std::max(each, 1)) + ", jax 2";
}

}  // namespace

TEST_CASE("every framework counts the same devices of the same resources", "[devices]") {
    struct Case {
        const char* limits;  // beside eight CPUs
        const char* torch;   // processes
        int each;            // devices with a process each
        int listed;
    };
    const Case cases[] = {
        {"", "8", 0, 0},
        {"example.com/nic: 2", "8", 0, 0},
        // NVIDIA
        {"nvidia.com/gpu: 4", "auto", 4, 4},
        {"nvidia.com/gpu.shared: 4", "auto", 1, 1},
        {"nvidia.com/gpu: 0, nvidia.com/gpu.shared: 2", "auto", 1, 1},
        {"nvidia.com/mig-1g.5gb: 3", "auto", 1, 1},
        {"nvidia.com/gpu: 2, nvidia.com/mig-1g.5gb: 3", "auto", 2, 2},
        {"nvidia.com/pgpu: 2", "auto", 2, 2},
        // HAMi
        {"nvidia.com/gpu: 2, nvidia.com/gpumem: 3000, nvidia.com/gpucores: 50", "auto", 2, 2},
        {"nvidia.com/gpu: 1, nvidia.com/gpumem-percentage: 50", "auto", 1, 1},
        {"nvidia.com/gpumem: 3000", "auto", 1, 1},
        {"nvidia.com/gpualloc: 2, nvidia.com/gpucores: 50, nvidia.com/gpumem: 8192", "auto", 2, 2},
        {"hami.io/vgpu-memory: 8192, hami.io/vgpu-core: 50, nvidia.com/gpu: 2", "auto", 2, 2},
        {"hami.io/vgpu-memory: 8192, hami.io/vgpu-cores: 50", "auto", 1, 1},
        // Volcano
        {"volcano.sh/vgpu-number: 1, volcano.sh/vgpu-cores: 50, volcano.sh/vgpu-memory: 3000", "auto", 1, 1},
        {"volcano.sh/vgpu-number: 2, volcano.sh/vgpu-memory-percentage: 50", "auto", 2, 2},
        {"volcano.sh/gpu-memory: 1024", "auto", 1, 1},
        // A scheduler's number beside the vendor's is of the same devices.
        {"nvidia.com/gpu: 2, hami.io/vgpu-number: 2", "auto", 2, 2},
        {"nvidia.com/gpu: 2, nvidia.com/gpualloc: 2, hami.io/vgpu: 2", "auto", 2, 2},
        {"nvidia.com/gpu: 1, volcano.sh/vgpu-number: 1", "auto", 1, 1},
        {"volcano.sh/vgpu-number: 2, volcano.sh/gpu-number: 1", "auto", 2, 2},
        {"cambricon.com/mlu: 2, cambricon.com/vmlu: 2, cambricon.com/mlunum: 2", "2", 2, 2},
        {"hygon.com/dcu: 2, hygon.com/dcunum: 2", "2", 2, 2},
        {"metax-tech.com/gpu: 2, metax-tech.com/sgpu: 2", "auto", 2, 2},
        {"mthreads.com/gpu: 2, mthreads.com/vgpu: 2", "auto", 2, 2},
        {"iluvatar.ai/gpu: 2, iluvatar.ai/vgpu: 2, iluvatar.ai/BI-V150-vgpu: 2", "auto", 2, 2},
        {"enflame.com/gcu: 2, enflame.com/drs-gcu: 2", "2", 2, 2},
        {"kunlunxin.com/xpu: 2, kunlunxin.com/vxpu: 2", "2", 2, 2},
        // Koordinator
        {"koordinator.sh/gpu: 100", "auto", 1, 1},
        {"koordinator.sh/gpu: 50", "auto", 1, 1},
        {"koordinator.sh/gpu: 200", "auto", 2, 2},
        {"koordinator.sh/gpu-core: 400, koordinator.sh/gpu-memory-ratio: 400", "auto", 4, 4},
        {"koordinator.sh/gpu-core: 50, koordinator.sh/gpu-memory: 8Gi", "auto", 1, 1},
        {"koordinator.sh/gpu.shared: 2, koordinator.sh/gpu-core: 100, koordinator.sh/gpu-memory-ratio: 100",
         "auto", 2, 2},
        {"koordinator.sh/gpu.shared: 1, koordinator.sh/gpu-core: 10, metax-tech.com/sgpu: 1", "auto", 1, 1},
        // Clouds
        {"aliyun.com/gpu-mem: 15", "auto", 1, 1},
        {"aliyun.com/gpu-mem: 15, aliyun.com/gpu-core.percentage: 30", "auto", 1, 1},
        {"aliyun.com/gpu-count: 2, aliyun.com/gpu-mem: 15", "auto", 2, 2},
        {"tke.cloud.tencent.com/qgpu-core: 200", "auto", 2, 2},
        {"k8s.amazonaws.com/vgpu: 3", "auto", 1, 1},
        // AMD
        {"amd.com/gpu: 8", "auto", 8, 8},
        {"amd.com/cpx_nps4: 8", "auto", 8, 8},
        {"amd.com/gpu: 2, amd.com/gpumem: 8192, amd.com/gpucores: 50", "auto", 2, 2},
        {"amd.com/gpumem: 8192", "auto", 1, 1},
        {"nvidia.com/gpu: 1, amd.com/gpu: 2", "auto", 3, 3},
        // Intel
        {"gpu.intel.com/i915: 2", "2", 2, 2},
        {"gpu.intel.com/xe: 1, gpu.intel.com/millicores: 500, gpu.intel.com/memory.max: 8589934592", "1", 1,
         1},
        {"nvidia.com/gpu: 1, gpu.intel.com/xe: 1", "auto", 2, 2},
        {"gpu.intel.com/memory.max: 8Gi", "1", 1, 1},
        {"gpu.intel.com/i915: 1, gpu.intel.com/tiles: 2", "1", 1, 1},
        {"gpu.intel.com/i915_monitoring: 1", "8", 0, 0},
        {"gpu.intel.com/monitoring: 1", "8", 0, 0},
        {"habana.ai/gaudi: 4", "4", 4, 4},
        // Others
        {"aws.amazon.com/neuron: 16", "16", 16, 16},
        {"aws.amazon.com/neuroncore: 2", "2", 2, 2},
        {"aws.amazon.com/neurondevice: 4", "4", 4, 4},
        {"aws.amazon.com/neuron: 1, aws.amazon.com/neuroncore: 2", "2", 2, 2},
        {"aws.amazon.com/neuron: 4, aws.amazon.com/neuroncore: 1", "4", 4, 4},
        {"huawei.com/Ascend910: 4", "4", 4, 4},
        {"huawei.com/Ascend310P: 1, huawei.com/Ascend310P-memory: 1024", "1", 1, 1},
        {"huawei.com/Ascend910B4-1: 4", "4", 4, 4},
        {"huawei.com/Ascend910B4-1: 2, huawei.com/Ascend910B4-1-memory: 8192, huawei.com/Ascend910B4-1-core: "
         "5",
         "2", 2, 2},
        {"huawei.com/Ascend910B4-1-memory: 8192", "1", 1, 1},
        {"huawei.com/Ascend910B4-1-core: 5", "1", 1, 1},
        {"huawei.com/Ascend910-2c: 1", "1", 1, 1},
        {"huawei.com/Ascend910-16c: 2", "1", 1, 1},
        {"huawei.com/Ascend310P-4c.3cpu: 2", "1", 1, 1},
        {"huawei.com/Ascend310P-2c.1cpu.dvpp: 2", "1", 1, 1},
        {"huawei.com/Ascend910B3-5c.1cpu.16g: 2", "1", 1, 1},
        {"google.com/tpu: 4", "1", 0, 4},
        {"cambricon.com/mlu: 2", "2", 2, 2},
        {"cambricon.com/mlu370: 2", "2", 2, 2},
        {"cambricon.com/mlunum: 1, cambricon.com/mlumem: 10240", "1", 1, 1},
        {"cambricon.com/mlu-mem: 10", "1", 1, 1},
        {"cambricon.com/mlu-share: 2", "1", 1, 1},
        {"cambricon.com/mlu370-cores: 50", "1", 1, 1},
        {"cambricon.com/vmlu: 1, cambricon.com/mlu.smlu.vmemory: 20, cambricon.com/mlu.smlu.vcore: 10", "1",
         1, 1},
        {"cambricon.com/mlu370.mim-2m.8gb: 2", "1", 1, 1},
        {"hygon.com/dcu: 2", "2", 2, 2},
        {"hygon.com/dcunum: 1, hygon.com/dcumem: 2000, hygon.com/dcucores: 60", "1", 1, 1},
        {"metax-tech.com/gpu: 2", "auto", 2, 2},
        {"metax-tech.com/sgpu: 1, metax-tech.com/vcore: 60, metax-tech.com/vmemory: 4", "auto", 1, 1},
        {"mthreads.com/vgpu: 1, mthreads.com/sgpu-core: 8, mthreads.com/sgpu-memory: 32", "auto", 1, 1},
        {"iluvatar.ai/BI-V150-vgpu: 1, iluvatar.ai/BI-V150.vCore: 50, iluvatar.ai/BI-V150.vMem: 64", "auto",
         1, 1},
        {"enflame.com/gcu: 2", "2", 2, 2},
        {"enflame.com/vgcu: 1, enflame.com/vgcu-percentage: 22", "1", 1, 1},
        {"enflame.com/vgcu: 3", "1", 1, 1},
        {"kunlunxin.com/xpu: 2", "2", 2, 2},
        {"birentech.com/1-4-gpu: 1", "auto", 1, 1},
        {"vastaitech.com/va: 2", "2", 2, 2},
        // The usual name of a device plugin's resource.
        {"example.com/gpu: 2", "auto", 2, 2},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.limits) {
            Json resources = tree("{limits: {" + std::string(c.limits) + "}}");
            resources["limits"]["cpu"] = 8;
            CHECK(built_of(resources) == of(c.torch, c.each));
            const auto listed = runtime::devices_of_node(resources, Json(), DeviceTable());
            CHECK(listed.count + listed.together == c.listed);
            CHECK(runtime::devices_of_node(Json(), resources, DeviceTable()).count == listed.count);
        }
    }
}

TEST_CASE("no row with a star takes memory, cores or per cent of devices for devices", "[devices]") {
    const DeviceTable table;
    int rows = 0;
    for (const DeviceTable::Row& row : DeviceTable::built_in()) {
        const bool is_loose = row.unit == DeviceUnit::device && row.name.find('*') != row.name.npos;
        if (!is_loose || row.name.find('/') == row.name.npos) continue;
        ++rows;
        for (const char* text : {"", "c", "370", "-1"})
            for (const char* mark : {"", "-", ".", "_"})
                for (const char* ending : {"mem", "memory", "core", "cores", "percentage", "Memory"}) {
                    std::string name;
                    for (const char letter : row.name)
                        name.append(letter == '*' ? text : std::string(1, letter));
                    name.append(mark).append(ending);
                    INFO(name);
                    CHECK(table.find(name) != DeviceUnit::device);
                }
    }
    CHECK(rows > 3);
    // What a platform says counts as it is.
    CHECK(table_of("acme.com/npu*=device").find("acme.com/npu-core") == DeviceUnit::device);
}

TEST_CASE("a resource in no table is unknown if it looks like a device, and no number is invented",
          "[devices]") {
    const auto limits = [](const char* text) {
        return tree("{limits: {cpu: 96, " + std::string(text) + "}}");
    };
    for (const char* unknown :
         {"acme.com/npu: 4", "acme.com/gpu-mem: 15", "acme.com/Accelerator: 2", "acme.com/vXPU_cores: 50",
          "acme.com/ascend: 2",
          // of vendors of nothing but accelerators
          "vastaitech.com/vastai: 2", "furiosa.ai/rngd: 1", "rebellions.ai/ATOM: 1",
          "tenstorrent.com/n300: 1", "graphcore.ai/ipu: 4", "habana.ai/hl225: 8", "qualcomm.com/qaic: 2",
          // whole GPUs by the names of their chips
          "nvidia.com/GA102GL_A10: 1", "nvidia.com/GV100GL_Tesla_V100: 1", "nvidia.com/TU104GL_Tesla_T4: 1",
          "nvidia.com/AD102GL_L40S: 1", "nvidia.com/GH100_H100_PCIe: 1",
          // by the names of their models
          "nvidia.com/a100: 8", "nvidia.com/H100: 8", "nvidia.com/A100-SXM4-80GB: 8", "nvidia.com/l4: 1",
          "nvidia.com/b200: 8", "nvidia.com/v100: 8", "nvidia.com/GRID_T4-1Q: 1",
          "nvidia.com/NVIDIA_A10-4C: 1", "nvidia.com/Tesla-P100: 1", "nvidia.com/rtx_6000_ada: 1",
          "amd.com/mi300x: 8", "amd.com/gfx942: 8", "amd.com/Instinct_MI210: 1", "huawei.com/davinci: 8",
          "huawei.com/Atlas300I: 1", "intel.com/vpu: 1", "microsoft.com/maia: 4", "cerebras.net/cs: 1",
          "cerebras.net/cs-3: 1", "ibm.com/spyre_pf: 1", "ibm.com/aiu_vf: 1"}) {
        INFO(unknown);
        CHECK(
            built_of(limits(unknown)) ==
            "torch auto, torchtune several, mpi 1 (GPUCountUnknown), flux none (GPUCountUnknown), xgboost 2 "
            "(GPUCountUnknown), jax 2");
    }
    for (const char* other :
         {"acme.com/input: 4", "acme.com/fpga: 1", "acme.com/dpu: 1", "nvidia.com/hostdev: 1",
          "nvidia.com/priority: 1", "nvidia.com/mlnxnics: 1", "nvidia.com/g: 1", "qualcomm.com/modem: 1",
          "acme.com/ga102gl: 1",
          // ports and functions of network devices
          "nvidia.com/hostdev-h100: 1", "nvidia.com/p0: 1", "nvidia.com/cx7: 1", "nvidia.com/bf3: 1",
          "nvidia.com/rail1: 1", "nvidia.com/sriov_rdma_vf: 1", "nvidia.com/ens1f0: 1",
          "nvidia.com/accounting: 1", "amd.com/mixer1: 1", "amd.com/xilinx_u250: 1", "amd.com/mi: 1",
          "intel.com/qat: 1", "intel.com/ipu: 1", "huawei.com/sriov: 1", "microsoft.com/disk: 1",
          "acme.com/a100: 1"}) {
        INFO(other);
        CHECK(built_of(limits(other)) == of("96", 0));
    }
    // Beside one that is known it is a part of that.
    CHECK(built_of(limits("nvidia.com/gpu: 2, acme.com/gpu-cores: 50")) == of("auto", 2));
    CHECK(runtime::devices_of_node(limits("acme.com/npu: 4"), Json(), DeviceTable()).why ==
          "resource \"acme.com/npu\" is in no table of accelerators (--accelerators)");
}

TEST_CASE("a platform's rows come before those of the table", "[devices]") {
    const DeviceTable table = table_of(
        "acme.com/NPU=device,acme.com/npu-*=share,acme.com/pod=together,nvidia.com/gpu=none,*/gpu=part");
    const auto limits = [](const char* text) {
        return tree("{limits: {cpu: 96, " + std::string(text) + "}}");
    };
    CHECK(built_of(limits("acme.com/npu: 4, acme.com/npu-memory: 15"), {}, table) == of("4", 4));
    CHECK(built_of(limits("acme.com/npu-memory: 15"), {}, table) == of("1", 1));
    CHECK(built_of(limits("acme.com/pod: 4"), {}, table) == of("1", 0));
    CHECK(built_of(limits("amd.com/gpu: 4"), {}, table) == of("auto", 1));
    CHECK(built_of(limits("nvidia.com/gpu: 4"), {}, table) == of("96", 0));
    CHECK(built_of(limits("habana.ai/gaudi: 4"), {}, table) == of("4", 4));
    CHECK(runtime::show_option(table_of("Acme.com/a=device,acme.com/b=percent")) ==
          "acme.com/a=device,acme.com/b=percent");
    for (const char* wrong :
         {"acme.com/npu", "acme.com/npu=", "=device", "acme.com/npu=devices", "a=device,,b=share"}) {
        INFO(wrong);
        DeviceTable none;
        const auto read = runtime::read_option(wrong, none);
        REQUIRE_FALSE(read);
        CHECK(read.error().message ==
              "must be a list of NAME=MEANING, separated by commas; the meanings are device, together, part, "
              "count, "
              "percent, share, none");
    }
}

TEST_CASE("devices behind claims are those of the table by class, extended resource or driver", "[devices]") {
    const auto of_class = [](const char* name, const Objects& of_cluster = {}) {
        Objects observed = of_cluster;
        observed.push_back(claim_template(
            ("[{name: a, exactly: {deviceClassName: " + std::string(name) + ", count: 4}}]").c_str()));
        return built_of(tree("{requests: {cpu: 96}, claims: [{name: gpus}]}"), observed);
    };
    const auto by_driver = [&](const char* name, const char* expression) {
        Json object = device_class(name, "");
        object["spec"]["selectors"] =
            Json::array({Json::object({{"cel", Json::object({{"expression", expression}})}})});
        return of_class(name, {object});
    };
    CHECK(of_class("gpu.nvidia.com") == of("auto", 4));
    CHECK(of_class("mig.nvidia.com") == of("auto", 1));
    CHECK(of_class("gpu.amd.com") == of("auto", 4));
    CHECK(of_class("gpu.intel.com") == of("4", 4));
    CHECK(of_class("fast", {device_class("fast", "gpu.intel.com/xe")}) == of("4", 4));
    CHECK(of_class("gpu-large-memory") == of("auto", 4));
    CHECK(of_class("gaudi.intel.com") == of("4", 4));
    CHECK(of_class("neuron.aws.com") == of("4", 4));
    CHECK(of_class("tpu.google.com") == of("1", 0));
    CHECK(of_class("fast", {device_class("fast", "nvidia.com/gpu")}) == of("auto", 4));
    CHECK(of_class("fast", {device_class("fast", "aws.amazon.com/neuron")}) == of("4", 4));
    CHECK(of_class("fast", {device_class("fast", "google.com/tpu")}) == of("1", 0));
    CHECK(by_driver("fast", "device.driver == \"gaudi.intel.com\"") == of("4", 4));
    CHECK(by_driver("fast", "device.driver=='tpu.google.com' && true") == of("1", 0));
    CHECK(by_driver("fast", "device.attributes[\"a\"].b && device.driver == 'gpu.nvidia.com'") ==
          of("auto", 4));
    CHECK(by_driver("fast", "device.driver != 'gpu.nvidia.com'") == of("96", 0));
    CHECK(by_driver("fast", "device.driver == other") == of("96", 0));
    CHECK(by_driver("fast", "device.driver == '") == of("96", 0));
    CHECK(by_driver("fast", "device.driver") == of("96", 0));
    CHECK(of_class("nic", {device_class("nic", "")}) == of("96", 0));
    const char* const unknown =
        "torch auto, torchtune several, mpi 1 (GPUCountUnknown), flux none (GPUCountUnknown), xgboost 2 "
        "(GPUCountUnknown), jax 2";
    CHECK(of_class("npu.acme.com", {device_class("npu.acme.com", "")}) == unknown);
    CHECK(of_class("fast", {device_class("fast", "acme.com/npu")}) == unknown);
    CHECK(by_driver("fast", "device.driver == 'npu.acme.com'") == unknown);
    CHECK(of_class("fast") == unknown);
}
