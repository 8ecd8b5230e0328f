#include <algorithm>
#include <utility>

#include "api/base64.hpp"
#include "api/names.hpp"
#include "apply/own_secret.hpp"
#include "build/pod_sets.hpp"
#include "build/template_rules.hpp"
#include "plugins/flux/flux_settings.hpp"
#include "resources/resources.hpp"
#include "runtime/plugin.hpp"
#include "runtime/rule.hpp"
#include "template/added.hpp"
#include "template/edit.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::FieldErrors;
using api::FieldErrorType;
using api::Json;

constexpr std::string_view scripts_volume = "flux-scripts";
constexpr std::string_view scripts_folder = "/etc/flux-config";
constexpr std::string_view install_volume = "flux-install";
constexpr std::string_view install_folder = "/mnt/flux";
constexpr std::string_view software_volume = "spack-install";
constexpr std::string_view memory_volume = "shared-memory";
constexpr std::string_view certificate_volume = "flux-curve";

std::string secret_name(const api::TrainJob& job) { return job.meta.name + "-flux-curve"; }
std::string scripts_name(const api::TrainJob& job) { return job.meta.name + "-flux-entrypoint"; }

Json mount(std::string_view volume, std::string_view path) {
    return Json::object({{"name", volume}, {"mountPath", path}});
}

Json read_only(Json mount) {
    mount["readOnly"] = true;
    return mount;
}

Json empty_dir(std::string_view name, Json source) {
    return Json::object({{"name", name}, {"emptyDir", std::move(source)}});
}

void add_volumes(const api::TrainJob& job, Json& pod_spec, const Json& node) {
    const std::int64_t mode = readable_mode(pod_spec, node, 0400);
    const Json scripts = Json::object({{"name", scripts_name(job)}, {"defaultMode", 0755}});
    const Json certificate = Json::object({{"secretName", secret_name(job)}, {"defaultMode", mode}});
    upsert_volume(pod_spec, empty_dir(software_volume, Json::object()));
    upsert_volume(pod_spec, empty_dir(install_volume, Json::object()));
    upsert_volume(pod_spec, Json::object({{"name", scripts_volume}, {"configMap", scripts}}));
    upsert_volume(pod_spec, empty_dir(memory_volume, Json::object({{"medium", "Memory"}})));
    upsert_volume(pod_spec, Json::object({{"name", certificate_volume}, {"secret", certificate}}));
}

void add_mounts(Json& node) {
    upsert_mount(node, mount(install_volume, install_folder));
    upsert_mount(node, mount(software_volume, "/opt/software"));
    upsert_mount(node, read_only(mount(scripts_volume, scripts_folder)));
    upsert_mount(node, read_only(mount(certificate_volume, "/curve")));
    upsert_mount(node, mount(memory_volume, "/dev/shm"));
}

// Completes the init container, of which a patch of the TrainJob may have parts.
void complete_installer(Json& container, const std::string& image, const Json& node) {
    container["image"] = image;
    container["command"] = Json::array({"/bin/bash", "/etc/flux-config/init.sh"});
    upsert_mount(container, mount(install_volume, install_folder));
    upsert_mount(container, read_only(mount(scripts_volume, scripts_folder)));
    const Json restrictions = restrictions_of(node);
    for (const auto& [member, value] : restrictions.members())
        if (std::as_const(container)["securityContext"][member].is_null())
            container["securityContext"][member] = value;
    if (Json resources = compute_resources_of(node); !resources.is_null())
        container["resources"] = std::move(resources);
}

void append(Json& list, const Json& items) {
    for (const Json& item : items.items()) list.push_back(item);
}

// Returns the program of a node as arguments of the script that starts Flux around it.
Json wrapped_command(const Info& info, const PodSet& pods, const Json& node) {
    static const Json nothing;
    const Json& trainer = pods.ancestor == api::ancestor_trainer ? info.trainer : nothing;
    Json command = Json::array({"/bin/bash", "/etc/flux-config/entrypoint.sh"});
    append(command, trainer["command"].is_null() ? node["command"] : trainer["command"]);
    append(command, trainer["args"].is_null() ? node["args"] : trainer["args"]);
    return command;
}

api::Error reserved_name() {
    return api::invalid("spec.runtimeRef",
                        "the init container name \"" + std::string(flux_installer) +
                            "\" is reserved: the runtime's job \"node\" must not have one");
}

bool has_own_installer(const Json& runtime) {
    const Json* job = find_named(jobs_of(runtime), flux_job);
    return job && find_named(pod_spec_of(*job)["initContainers"], flux_installer);
}

// Returns the error of a runtime without the only job in which Flux runs.
api::Error no_node() {
    return api::invalid("spec.runtimeRef",
                        "the runtime has no job \"node\" with a container \"node\", in which Flux would run");
}

Json scripts_map(const api::TrainJob& job, const FluxSettings& settings) {
    Json map = Json::object({{"apiVersion", "v1"}, {"kind", "ConfigMap"}});
    map["metadata"]["name"] = scripts_name(job);
    map["data"]["init.sh"] = flux_init_script(settings);
    map["data"]["entrypoint.sh"] = flux_entrypoint_script(settings);
    map["data"]["broker.toml"] = flux_broker_config(settings);
    return map;
}

Json certificate_secret(const api::TrainJob& job, const CurveKeyPair& keys) {
    Json secret = Json::object({{"apiVersion", "v1"}, {"kind", "Secret"}});
    secret["metadata"]["name"] = secret_name(job);
    secret["data"]["curve.cert"] =
        api::to_base64(flux_certificate(job.meta.name, keys.public_key, keys.secret_key));
    return with_data_note(std::move(secret));
}

constexpr api::RuleId admission_rules[] = {api::RuleId("flux")};

constexpr NumberBound numbers[] = {{"numProcPerNode", 1}};

constexpr Policy flux_policy = {.group = ml_policy_group,
                                .member = "flux",
                                .numbers = numbers,
                                .needs_host_names = true,
                                .counts_devices = true,
                                .added_container = flux_installer,
                                .added_to = flux_job,
                                .wraps_program = true};

// A Flux instance across the nodes. Its brokers trust each other by a key that is made for this TrainJob
// alone.
class Flux final : public Plugin {
public:
    std::string_view name() const override { return "flux"; }
    const Policy* policy() const override { return &flux_policy; }
    std::span<const api::RuleId> rules() const override { return admission_rules; }

    bool also_has_processes(const Json&, std::string_view job) const override { return job == flux_job; }
    bool takes_processes(const Json&, const Json& job) const override {
        return job["name"].as_string() == flux_job;
    }

    bool depends_on_devices(const Json&, const Json&) const override { return true; }

    void add_needs(const NeedsContext& context, Needs& needs) const override {
        const api::TrainJob& job = context.job;
        const Need keys = own_secret(job, secret_name(job));
        needs.objects.push_back(keys);
        needs.objects.push_back({.resource = api::resources::config_maps,
                                 .key = {.ns = job.meta.ns, .name = scripts_name(job)},
                                 .apply = ApplyPolicy::always});
        needs.curve_key_pair = needs.curve_key_pair || !find_observed(context.observed, keys);
    }

    void validate(const ValidationInputs& review, FieldErrors& errors) const override {
        if (review.merged_spec.is_null()) return;
        const Json& trainer = review.job.spec["trainer"];
        const auto pod_sets = count_pods(review.merged_spec, review.plugins, trainer["numNodes"].as_int());
        const auto pods = std::find_if(pod_sets.begin(), pod_sets.end(),
                                       [](const PodSet& some) { return some.name == flux_job; });
        const auto refuse = [&](const api::Error& error) {
            errors.push_back(
                {FieldErrorType::invalid, error.field, review.job.runtime_ref.name, error.message});
        };
        if (pods == pod_sets.end()) return refuse(no_node());
        const Json& pod_spec =
            review.merged_spec["replicatedJobs"][pods->index]["template"]["spec"]["template"]["spec"];
        if (!find_named(pod_spec["containers"], api::node_container)) refuse(no_node());
        if (has_own_installer(review.runtime)) refuse(reserved_name());
        const auto resources = counted_resources(review.merged_spec, trainer["resourcesPerNode"]);
        if (!resources) {
            errors.push_back(
                {FieldErrorType::invalid, resources.error().field, {}, resources.error().message});
            return;
        }
        const DeviceCount devices = devices_in(resources->resources, review.plugins.devices());
        flux_settings({.job = review.job,
                       .runtime = review.runtime,
                       .job_set_spec = review.merged_spec,
                       .nodes = &*pods,
                       .devices = devices},
                      errors);
    }

    // Flux tells its nodes by their host names, and with the node's network a Pod has its node's.
    void add_runtime_warnings(const Json& runtime, const ActivePlugins&,
                              api::Warnings& warnings) const override {
        const Json* const nodes = find_named(jobs_of(runtime), flux_job);
        if (nodes && pod_spec_of(*nodes)["hostNetwork"].bool_or(false))
            warnings.push_back({.text = "job node: Flux does not start with hostNetwork, as its brokers know "
                                        "each other by the names of Pods",
                                .rule = Rule::host_network});
    }

    api::Result<> enforce_ml_policy(const Inputs& inputs, Info& info) const override {
        const PodSet* pods = info.pod_set(flux_job);
        if (!pods || !info.container(*pods, api::node_container)) return no_node();
        if (has_own_installer(inputs.runtime)) return reserved_name();
        info.note_unknown_devices();
        FieldErrors errors;
        const FluxSettings settings = settings_of(inputs, info, errors);
        if (!errors.empty()) return to_error(errors.front());

        Json& pod_spec = info.pod_spec(*pods);
        add_volumes(info.job, pod_spec, *info.container(*pods, api::node_container));
        if (!info.init_container(*pods, flux_installer))
            pod_spec["initContainers"].push_back(Json::object({{"name", flux_installer}}));
        complete_installer(*info.init_container(*pods, flux_installer), settings.view_image,
                           *info.container(*pods, api::node_container));
        Json& node = *info.container(*pods, api::node_container);  // after the Pod has its volumes
        add_mounts(node);
        Json command = wrapped_command(info, *pods, node);
        node.erase("args");
        if (pods->ancestor == api::ancestor_trainer) {
            info.command = std::move(command);
            info.args = Json();  // they are part of the command now
        } else {
            node["command"] = std::move(command);
        }
        return {};
    }

    api::Result<> build(const Inputs& inputs, Info& info, Built& built) const override {
        FieldErrors errors;
        const FluxSettings settings = settings_of(inputs, info, errors);
        if (!errors.empty()) return to_error(errors.front());
        const Need keys = own_secret(info.job, secret_name(info.job));
        if (auto unchanged = check_own_secret(inputs.observed, keys); !unchanged) return unchanged;
        if (inputs.curve_key_pair)
            built.objects.push_back(
                {certificate_secret(info.job, *inputs.curve_key_pair), ApplyPolicy::once});
        built.objects.push_back({scripts_map(info.job, settings), ApplyPolicy::always});
        return {};
    }

private:
    static FluxSettings settings_of(const Inputs& inputs, Info& info, FieldErrors& errors) {
        return flux_settings({.job = info.job,
                              .runtime = inputs.runtime,
                              .job_set_spec = info.spec,
                              .nodes = info.pod_set(flux_job),
                              .devices = info.devices},
                             errors);
    }
};

}  // namespace

std::unique_ptr<Plugin> make_flux() { return std::make_unique<Flux>(); }

}  // namespace runtime
