#include "plugins/flux/flux_settings.hpp"

#include <algorithm>
#include <limits>

#include "api/job_set_names.hpp"
#include "api/names.hpp"
#include "api/text.hpp"
#include "template/edit.hpp"

namespace runtime {
namespace {

using api::FieldErrors;
using api::FieldErrorType;
using api::Json;

constexpr std::int64_t most_processes = std::numeric_limits<std::int32_t>::max();
// The limit of a text, which is part of a script and of a configuration that share a ConfigMap.
constexpr std::size_t most_host_list_bytes = 200'000;

// A setting by environment, and the field that set it last.
struct Setting {
    std::string value = {};
    std::string_view field = "spec.runtimeRef";
};

// Takes the value of a variable. Other sources than plain values are unknown before a Pod runs, and an empty
// value sets nothing.
void take(Setting& setting, const Json& env, std::string_view name, std::string_view field) {
    const Json* entry = find_named(env, name);
    if (!entry || (*entry)["value"].as_string().empty()) return;
    setting = {.value = std::string((*entry)["value"].as_string()), .field = field};
}

Setting setting_of(const FluxSources& sources, std::string_view name, std::string_view by_default) {
    Setting setting = {.value = std::string(by_default)};
    // Reads the runtime's own variables: at the time of the build the container has the TrainJob's, too.
    const Json& template_spec = sources.runtime["spec"]["template"]["spec"];
    if (const Json* job = find_named(template_spec["replicatedJobs"], flux_job)) {
        const Json& containers = (*job)["template"]["spec"]["template"]["spec"]["containers"];
        if (const Json* node = find_named(containers, api::node_container))
            take(setting, (*node)["env"], name, setting.field);
    }
    take(setting, sources.job.spec["trainer"]["env"], name, "spec.trainer.env");
    return setting;
}

bool is_plain_word(std::string_view text) {
    const auto allowed = [](char c) {
        return api::is_letter_or_digit(c) || c == '.' || c == '_' || c == '-';
    };
    return !text.empty() && std::all_of(text.begin(), text.end(), allowed);
}

// Returns the setting. Adds an error if it cannot be part of scripts and of TOML.
std::string checked_word(const FluxSources& sources, std::string_view name, std::string_view by_default,
                         FieldErrors& errors) {
    Setting setting = setting_of(sources, name, by_default);
    if (!is_plain_word(setting.value))
        errors.push_back({FieldErrorType::invalid, std::string(setting.field), setting.value,
                          std::string(name) + " must consist of letters, digits, '.', '_' and '-'"});
    return setting.value;
}

void check_numbers(const FluxSettings& settings, FieldErrors& errors) {
    if (settings.nodes < 1)
        errors.push_back({FieldErrorType::invalid, "spec.trainer.numNodes", settings.nodes,
                          "must be at least 1 for a runtime with Flux"});
    if (settings.nodes > most_processes / settings.processes_per_node)
        errors.push_back({FieldErrorType::invalid, "spec.trainer.numProcPerNode", settings.processes_per_node,
                          "nodes times processes makes more than 2^31 Flux tasks"});
    if (settings.devices_per_node % settings.processes_per_node != 0)
        errors.push_back({FieldErrorType::invalid, "spec.trainer.numProcPerNode", settings.processes_per_node,
                          "must divide the " + std::to_string(settings.devices_per_node) +
                              " devices of a node: Flux gives every process the same number"});
}

// What many Pods share, the processes of one may share as well, where it has fewer than processes. Of unknown
// devices Flux has none to give. It hides all that it has not given.
void settle_devices(const DeviceCount& devices, FluxSettings& settings) {
    const bool is_divided = !devices.shared || devices.count % settings.processes_per_node == 0;
    settings.devices_per_node = is_divided ? devices.count : 0;
    settings.hides_devices = is_divided && devices.known;
}

// Returns Flux's notation for lists of hosts: "job-node-0-[0-3]", for every replica.
std::string host_list(const std::string& job_set, const PodSet& pods) {
    const std::string range = pods.count > 1 ? "[0-" + std::to_string(pods.count - 1) + "]" : "[0]";
    std::string hosts;
    for (std::int64_t replica = 0; replica < pods.replicas && hosts.size() < most_host_list_bytes; ++replica)
        hosts +=
            (replica > 0 ? "," : "") + api::job_set_names::job(job_set, pods.name, replica) + "-" + range;
    return hosts;
}

void settle_hosts(const FluxSources& sources, FluxSettings& settings, FieldErrors& errors) {
    const PodSet& pods = *sources.nodes;
    const std::string& job_set = sources.job.meta.name;
    const bool too_many = pods.replicas > 0 && pods.count > most_processes / pods.replicas;
    settings.nodes = too_many ? most_processes + 1 : pods.count * pods.replicas;
    settings.hosts = host_list(job_set, pods);
    settings.lead = api::job_set_names::host(job_set, pods.name, 0, 0);
    if (settings.hosts.size() >= most_host_list_bytes)
        errors.push_back({FieldErrorType::invalid, "spec.runtimeRef", pods.replicas,
                          "the runtime's job \"node\" has too many replicas for Flux"});
    settings.subdomain = api::job_set_names::subdomain(job_set, sources.job_set_spec);
    if (!is_plain_word(settings.subdomain))
        errors.push_back({FieldErrorType::invalid, "spec.runtimeRef", settings.subdomain,
                          "the runtime's network.subdomain must be a DNS name"});
}

}  // namespace

FluxSettings flux_settings(const FluxSources& sources, FieldErrors& errors) {
    FluxSettings settings;
    const Json& wanted = sources.job.spec["trainer"]["numProcPerNode"];
    settings.processes_per_node = std::max<std::int64_t>(
        1, wanted.int_or(sources.runtime["spec"]["mlPolicy"]["flux"]["numProcPerNode"].int_or(1)));
    settle_devices(sources.devices, settings);
    if (sources.nodes) settle_hosts(sources, settings, errors);
    settings.view_image =
        setting_of(sources, "FLUX_VIEW_IMAGE", "ghcr.io/converged-computing/flux-view-ubuntu:tag-jammy")
            .value;
    settings.network_device = checked_word(sources, "FLUX_NETWORK_DEVICE", "eth0", errors);
    settings.queue_policy = checked_word(sources, "FLUX_QUEUE_POLICY", "fcfs", errors);
    check_numbers(settings, errors);
    return settings;
}

}  // namespace runtime
