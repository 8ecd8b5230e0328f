#include "runtime/devices.hpp"

#include <algorithm>
#include <limits>

#include "api/text.hpp"
#include "resources/resources.hpp"

namespace runtime {
namespace {

using enum DeviceUnit;

struct KnownName {
    std::string_view name;  // in lower case
    DeviceUnit unit;
};

// The first row that fits counts. The names are those of the vendors' device plugins and of schedulers that
// share devices, as their documents give them. A scheduler's own number of devices (count) may be beside the
// vendor's name for the same ones.
constexpr KnownName known_names[] = {
    // NVIDIA: the device plugin, with time slicing (.shared) and MIG; sandboxed Pods (pgpu).
    {"nvidia.com/gpu", device},
    {"nvidia.com/pgpu", device},
    {"nvidia.com/gpu.shared", part},
    {"nvidia.com/mig-*", part},
    // HAMi. The number of devices has the device plugin's name, or one of these; the rest is of each of them.
    {"nvidia.com/gpualloc", count},
    {"nvidia.com/gpumem", share},
    {"nvidia.com/gpumem-percentage", share},
    {"nvidia.com/gpucores", share},
    {"hami.io/vgpu", count},
    {"hami.io/vgpu-number", count},
    {"hami.io/vgpu-*", share},
    // Volcano, and Huawei's cloud.
    {"volcano.sh/vgpu-number", count},
    {"volcano.sh/gpu-number", count},
    {"volcano.sh/vgpu-*", share},
    {"volcano.sh/gpu-*", share},
    // Koordinator. It names a vendor's resource as well for some vendors, which is the same device.
    {"koordinator.sh/gpu", percent},
    {"koordinator.sh/gpu-core", percent},
    {"koordinator.sh/gpu-memory-ratio", percent},
    {"koordinator.sh/gpu-memory", share},
    {"koordinator.sh/gpu.shared", count},
    // Clouds' ways to share GPUs.
    {"aliyun.com/gpu-count", count},
    {"aliyun.com/gpu-mem", share},
    {"aliyun.com/gpu-core.*", share},
    {"aliyun.com/ppu", device},
    {"tke.cloud.tencent.com/qgpu-core", percent},
    {"tke.cloud.tencent.com/qgpu-memory", share},
    {"tencent.com/vcuda-core", percent},
    {"tencent.com/vcuda-memory", share},
    {"vke.volcengine.com/mgpu-core", percent},
    {"vke.volcengine.com/mgpu-memory", share},
    {"k8s.amazonaws.com/vgpu", part},
    // AMD: partitions have the names of their modes, and each is a device to ROCm.
    {"amd.com/gpu", device},
    {"amd.com/*px_nps*", device},
    {"amd.com/gpu-memory", share},
    {"amd.com/gpumem", share},
    {"amd.com/gpucores", share},
    // Intel: GPUs by driver. Monitors see all devices of a node, of one driver or of all (monitoring).
    {"gpu.intel.com/*monitoring", none},
    {"gpu.intel.com/i915", device},
    {"gpu.intel.com/xe", device},
    {"gpu.intel.com/millicores", share},
    {"gpu.intel.com/memory.max", share},
    {"gpu.intel.com/tiles", share},
    {"habana.ai/gaudi", device},
    // AWS: a process drives a core, or all cores of a device. The names are views of the same devices.
    {"aws.amazon.com/neuron", count},
    {"aws.amazon.com/neurondevice", count},
    {"aws.amazon.com/neuroncore", count},
    // Google: PyTorch/XLA and JAX drive the chips of a host from one process.
    {"google.com/tpu", together},
    {"cloud-tpus.google.com/*", together},
    // Huawei: Ascend910, Ascend310P, Ascend910B4-1 and so on; virtual ones (Ascend910-2c,
    // Ascend310P-2c.1cpu.dvpp).
    {"huawei.com/npu", device},
    {"huawei.com/npu-*", share},
    {"huawei.com/ascend*-memory", share},
    {"huawei.com/ascend*-core", share},
    {"huawei.com/ascend*-*c", part},
    {"huawei.com/ascend*-*c.*", part},
    {"huawei.com/ascend*", device},
    // Cambricon, Hygon, MetaX, Moore Threads, Iluvatar, Enflame, Kunlunxin, Biren, Vastai; HAMi's names of
    // their shares.
    {"cambricon.com/*.vcore", share},
    {"cambricon.com/*.vmemory", share},
    {"cambricon.com/*.share", part},
    {"cambricon.com/*.mim-*", part},
    {"cambricon.com/mlunum", count},
    {"cambricon.com/mlumem", share},
    {"cambricon.com/mlu-mem*", share},
    {"cambricon.com/mlu-share", part},
    {"cambricon.com/mlu*", device},
    {"cambricon.com/vmlu", count},
    {"hygon.com/dcu", device},
    {"hygon.com/dcunum", count},
    {"hygon.com/dcumem", share},
    {"hygon.com/dcucores", share},
    {"hygon.com/dcu-share-*", part},
    {"metax-tech.com/sgpu", count},
    {"metax-tech.com/vcore", share},
    {"metax-tech.com/vmemory", share},
    {"mthreads.com/vgpu", count},
    {"mthreads.com/sgpu-*", share},
    {"iluvatar.ai/vgpu", count},
    {"iluvatar.ai/*-vgpu", count},
    {"iluvatar.ai/vcuda-core", share},
    {"iluvatar.ai/vcuda-memory", share},
    {"iluvatar.ai/*.vcore", share},
    {"iluvatar.ai/*.vmem", share},
    {"enflame.com/gcu", device},
    {"enflame.com/drs-gcu", count},
    {"enflame.com/gcu-memory", share},
    {"enflame.com/gcu-core", share},
    {"enflame.com/shared-gcu", part},
    {"enflame.com/vgcu", part},
    {"enflame.com/vgcu-percentage", share},
    {"kunlunxin.com/xpu", device},
    {"kunlunxin.com/vxpu", count},
    {"kunlunxin.com/vxpu-memory", share},
    {"birentech.com/*-gpu", part},
    {"vastaitech.com/va", device},
    // The usual name of a device plugin's resource.
    {"*/gpu", device},
    // Classes and drivers of devices (DRA). A device of any class that names GPUs is one.
    {"mig.*", part},
    {"*gpu*", device},
    {"gaudi.intel.com", device},
    {"neuron.aws.com", device},
    {"npu.huawei.com", device},
    {"tpu.google.com", together},
};

// Returns whether a name fits a pattern, in which `*` stands for any text without a slash.
bool fits(std::string_view name, std::string_view pattern) {
    std::size_t at = 0, in_pattern = 0;
    std::size_t star = pattern.npos, from = 0;  // the last `*`, and where the text that it stands for began
    while (at < name.size()) {
        const char wanted = in_pattern < pattern.size() ? pattern[in_pattern] : '\0';
        if (wanted == '*') {
            star = in_pattern++;
            from = at;
        } else if (wanted == name[at]) {
            ++at;
            ++in_pattern;
        } else if (star != pattern.npos && name[from] != '/') {
            at = ++from;
            in_pattern = star + 1;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', in_pattern) == pattern.npos;
}

// Returns whether a name of a resource ends like one of a share: "mlu370-mem".
bool ends_like_share(std::string_view name) {
    constexpr std::string_view endings[] = {"mem", "memory", "core", "cores", "percentage"};
    return std::any_of(std::begin(endings), std::end(endings),
                       [&](std::string_view ending) { return name.ends_with(ending); });
}

// A `*` after devices must not take their memory for more of them. Classes and drivers, which have no slash,
// stand for devices whatever their names.
DeviceUnit meaning_of(std::string_view name, const KnownName& row) {
    const bool is_loose =
        row.unit == device && row.name.find('*') != row.name.npos && row.name.find('/') != row.name.npos;
    return is_loose && ends_like_share(name) ? share : row.unit;
}

struct Meaning {
    std::string_view word;
    DeviceUnit unit;
};
constexpr Meaning meanings[] = {{"device", device}, {"together", together}, {"part", part},
                                {"count", count},   {"percent", percent},   {"share", share},
                                {"none", none}};

// Returns whether a word of a name begins like one of a kind of devices, such as "npu" or "vNPU".
bool names_device(std::string_view word) {
    constexpr std::string_view kinds[] = {"npu", "tpu", "xpu", "dcu", "hcu", "mlu",
                                          "gcu", "hpu", "ppu", "lpu", "qaic"};
    if (word.starts_with('v') && word.size() > 3) word.remove_prefix(1);
    return std::any_of(std::begin(kinds), std::end(kinds),
                       [&](std::string_view kind) { return word.starts_with(kind); });
}

// Returns whether a name is below a domain of which accelerators alone are known.
bool is_of_accelerators(std::string_view name) {
    constexpr std::string_view domains[] = {"furiosa.ai/",    "graphcore.ai/",    "habana.ai/",
                                            "rebellions.ai/", "tenstorrent.com/", "vastaitech.com/"};
    return std::any_of(std::begin(domains), std::end(domains),
                       [&](std::string_view domain) { return name.starts_with(domain); });
}

// How the name of a model begins below a vendor's domain.
struct ModelName {
    std::string_view domain;
    std::string_view start;
    bool is_numbered = true;  // the number of the model follows: "a" of "a100", not of "accounting"
};

// Plugins name whole GPUs, above all those of virtual machines, by the model (a100), by the chip as the PCI
// database has it (ga102gl_a10), or by a brand before it (grid_t4-1q).
constexpr ModelName models[] = {
    {"nvidia.com/", "a"},
    {"nvidia.com/", "b"},
    {"nvidia.com/", "h"},
    {"nvidia.com/", "k"},
    {"nvidia.com/", "l"},
    {"nvidia.com/", "m"},
    {"nvidia.com/", "p"},
    {"nvidia.com/", "t"},
    {"nvidia.com/", "v"},
    {"nvidia.com/", "ad"},
    {"nvidia.com/", "ga"},
    {"nvidia.com/", "gb"},
    {"nvidia.com/", "gh"},
    {"nvidia.com/", "gk"},
    {"nvidia.com/", "gm"},
    {"nvidia.com/", "gp"},
    {"nvidia.com/", "gv"},
    {"nvidia.com/", "tu"},
    {"nvidia.com/", "geforce", false},
    {"nvidia.com/", "grid", false},
    {"nvidia.com/", "nvidia", false},
    {"nvidia.com/", "quadro", false},
    {"nvidia.com/", "rtx", false},
    {"nvidia.com/", "tesla", false},
    {"nvidia.com/", "titan", false},
    {"amd.com/", "gfx"},
    {"amd.com/", "mi"},
    {"amd.com/", "instinct", false},
    {"amd.com/", "radeon", false},
    {"cerebras.net/", "cs", false},
    {"huawei.com/", "atlas", false},
    {"huawei.com/", "davinci", false},
    {"ibm.com/", "aiu", false},
    {"ibm.com/", "spyre", false},
    {"intel.com/", "vpu", false},
    {"microsoft.com/", "maia", false},
};

bool is_model(std::string_view name) {
    return std::any_of(std::begin(models), std::end(models), [&](const ModelName& model) {
        if (!name.starts_with(model.domain) || !name.substr(model.domain.size()).starts_with(model.start))
            return false;
        const std::string_view rest = name.substr(model.domain.size() + model.start.size());
        return !model.is_numbered || (!rest.empty() && rest.front() >= '1' && rest.front() <= '9');
    });
}

// Returns whether torchrun counts devices of that name. Of Intel's GPUs only late versions do; others would
// take CPUs for a number.
bool is_counted_by_torchrun(const std::string& name) {
    if (name.starts_with("gpu.intel.com")) return false;
    return name.find("gpu") != name.npos || name.find("nvidia") != name.npos ||
           name.starts_with("amd.com/") || name.starts_with("mig.");
}

std::int64_t plus(std::int64_t a, std::int64_t b) {
    return a + std::min(b, std::numeric_limits<std::int64_t>::max() - a);
}

}  // namespace

api::Result<> read_option(std::string_view text, DeviceTable& target) {
    std::vector<DeviceTable::Row> rows;
    while (!text.empty()) {
        const std::string_view row = api::take_item(text);
        const auto equals = std::min(row.find('='), row.size());
        const auto meaning = std::find_if(
            std::begin(meanings), std::end(meanings),
            [&](const Meaning& known) { return known.word == row.substr(std::min(equals + 1, row.size())); });
        if (equals == 0 || meaning == std::end(meanings)) {
            std::string words;
            for (const Meaning& known : meanings) words.append(words.empty() ? "" : ", ").append(known.word);
            return api::invalid(
                "", "must be a list of NAME=MEANING, separated by commas; the meanings are " + words);
        }
        rows.push_back({api::to_lower(row.substr(0, equals)), meaning->unit});
    }
    target = DeviceTable(std::move(rows));
    return {};
}

std::string show_option(const DeviceTable& table) {
    std::string text;
    for (const DeviceTable::Row& row : table.own()) {
        const auto meaning = std::find_if(std::begin(meanings), std::end(meanings),
                                          [&](const Meaning& known) { return known.unit == row.unit; });
        text.append(text.empty() ? "" : ",").append(row.name).append("=").append(meaning->word);
    }
    return text;
}

std::optional<DeviceUnit> DeviceTable::find(std::string_view name) const {
    const std::string text = api::to_lower(name);
    const auto fitting = [&](const auto& row) { return fits(text, row.name); };
    if (const auto own = std::find_if(own_.begin(), own_.end(), fitting); own != own_.end()) return own->unit;
    const auto known = std::find_if(std::begin(known_names), std::end(known_names), fitting);
    return known == std::end(known_names) ? std::nullopt : std::optional(meaning_of(text, *known));
}

std::vector<DeviceTable::Row> DeviceTable::built_in() {
    std::vector<Row> rows;
    for (const KnownName& row : known_names) rows.push_back({std::string(row.name), row.unit});
    return rows;
}

bool looks_like_device(std::string_view name) {
    const std::string text = api::to_lower(name);
    for (const char* kind : {"gpu", "cuda", "accelerator", "ascend", "gaudi", "neuron", "trainium"})
        if (text.find(kind) != text.npos) return true;
    if (is_of_accelerators(text) || is_model(text)) return true;
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::string_view word = rest.substr(0, rest.find_first_of("./-_"));
        if (names_device(word)) return true;
        rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    }
    return false;
}

void DeviceSum::add(std::string_view name, DeviceUnit unit, std::int64_t amount) {
    if (unit == none) return;
    gpus_ = gpus_ || is_counted_by_torchrun(api::to_lower(name));
    switch (unit) {
        case device: devices_ = plus(devices_, amount); break;
        case together: together_ = plus(together_, amount); break;
        case count: shared_devices_ = std::max(shared_devices_, amount); break;
        case percent: shared_devices_ = std::max(shared_devices_, amount / 100 + (amount % 100 > 0)); break;
        default: has_parts_ = true;
    }
}

DeviceCount DeviceSum::total() const {
    DeviceCount total = {.count = devices_, .together = together_, .gpus = gpus_};
    if (total.count > 0) return total;
    total.count = shared_devices_;
    if (!total.any() && has_parts_) total.count = 1;
    total.shared = total.count > 0;
    return total;
}

std::int64_t DeviceCount::on(std::int64_t pods) const {
    std::int64_t product = 0;
    return __builtin_mul_overflow(plus(count, together), pods, &product)
               ? std::numeric_limits<std::int64_t>::max()
               : product;
}

DeviceCount devices_of_node(const api::Json& of_container, const api::Json& per_node,
                            const DeviceTable& table) {
    const auto merged = merged_resources(of_container, per_node);
    return merged ? devices_in(*merged, table) : DeviceCount();
}

}  // namespace runtime
