#include "plugins/flux/flux_settings.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace runtime {
namespace {

using Values = std::vector<std::pair<std::string_view, std::string>>;

std::string fill_in(std::string_view text, const Values& values) {
    std::string filled(text);
    for (const auto& [name, value] : values) {
        const std::string mark = "{{" + std::string(name) + "}}";
        for (auto at = filled.find(mark); at != filled.npos; at = filled.find(mark, at + value.size()))
            filled.replace(at, mark.size(), value);
    }
    return filled;
}

}  // namespace

std::string flux_init_script(const FluxSettings& settings) {
    return fill_in(flux_texts::init_sh, {{"hosts", settings.hosts}});
}

std::string flux_entrypoint_script(const FluxSettings& settings) {
    const std::int64_t gpus = settings.devices_per_node;
    // Flux counts GPUs per process.
    std::string per_task;
    if (gpus > 0) per_task = "-g '" + std::to_string(gpus / settings.processes_per_node) + "' ";
    if (!settings.hides_devices) per_task = "-o gpu-affinity=off ";
    return fill_in(flux_texts::entrypoint_sh,
                   {{"hosts", settings.hosts},
                    {"cores", "0-" + std::to_string(settings.processes_per_node - 1)},
                    {"gpus", gpus > 0 ? "--gpu='0-" + std::to_string(gpus - 1) + "' " : std::string()},
                    {"lead", settings.lead},
                    {"nodes", std::to_string(settings.nodes)},
                    {"tasks", std::to_string(settings.nodes * settings.processes_per_node)},
                    {"gpus_per_task", per_task}});
}

std::string flux_broker_config(const FluxSettings& settings) {
    return fill_in(flux_texts::broker_toml, {{"device", settings.network_device},
                                             {"subdomain", settings.subdomain},
                                             {"hosts", settings.hosts},
                                             {"policy", settings.queue_policy}});
}

std::string flux_certificate(std::string_view name, std::string_view public_key,
                             std::string_view secret_key) {
    // Flux's parser requires sections at the margin, values in quotes and indented, and short lines.
    return "#   Made for one TrainJob: whoever has this can join its Flux brokers.\n"
           "metadata\n"
           "    name = \"" +
           std::string(name) +
           "\"\n"
           "curve\n"
           "    public-key = \"" +
           to_z85(public_key) +
           "\"\n"
           "    secret-key = \"" +
           to_z85(secret_key) + "\"\n";
}

std::string to_z85(std::string_view bytes) {
    constexpr std::string_view alphabet =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
    constexpr std::size_t group_bytes = 4;
    constexpr std::uint32_t base = 85;
    constexpr std::uint32_t highest_weight = base * base * base * base;
    std::string text;
    for (; bytes.size() >= group_bytes; bytes.remove_prefix(group_bytes)) {
        std::uint32_t group = 0;
        for (const char byte : bytes.substr(0, group_bytes))
            group = group << 8 | static_cast<unsigned char>(byte);
        for (std::uint32_t weight = highest_weight; weight > 0; weight /= base)
            text += alphabet[group / weight % base];
    }
    return text;
}

}  // namespace runtime
