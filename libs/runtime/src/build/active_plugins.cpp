#include "runtime/active_plugins.hpp"

#include <algorithm>

#include "api/names.hpp"
#include "runtime/plugin.hpp"
#include "template/replicated_jobs.hpp"
#include "template/shape.hpp"

namespace runtime {
namespace {

using api::Json;

std::string_view name_of(const Json& replicated_job) { return replicated_job["name"].as_string(); }

bool any_policy(const std::vector<const Plugin*>& plugins, bool Policy::*wanted) {
    return std::any_of(plugins.begin(), plugins.end(),
                       [&](const Plugin* plugin) { return plugin->policy() && plugin->policy()->*wanted; });
}

}  // namespace

const Json& Plugin::policy_of(const Json& runtime) const {
    static const Json none;
    const Policy* const at = policy();
    if (!at) return none;
    const Json& spec = runtime["spec"];
    return at->group.empty() ? spec[at->member] : spec[at->group][at->member];
}

bool Plugin::is_on(const Json& runtime) const {
    if (!policy()) return true;
    const Json& value = policy_of(runtime);
    if (!policy()->is_setting) return value.is_object();
    return value.bool_or(false) || !value.as_string().empty();
}

const Json& Plugin::shared_claims(const Json& /*policy*/) const {
    static const Json none;
    return none;
}

ActivePlugins::ActivePlugins(const Pipeline& pipeline, const Json& runtime)
    : runtime_(runtime), devices_(pipeline.devices) {
    for (const auto& plugin : pipeline)
        if (plugin->is_on(runtime)) plugins_.push_back(plugin.get());
    const auto names_job = [](const Plugin* plugin) {
        return plugin->policy() && !plugin->policy()->scaled_job.empty();
    };
    if (const auto at = std::find_if(begin(), end(), names_job); at != end()) scaling_ = *at;
}

const Json& ActivePlugins::ml_policy() const { return runtime_["spec"][ml_policy_group]; }

bool ActivePlugins::trains(std::string_view ancestor, std::string_view job) const {
    return ancestor == api::ancestor_trainer || std::any_of(begin(), end(), [&](const Plugin* plugin) {
               return plugin->also_trains(plugin->policy_of(runtime_), job);
           });
}

bool ActivePlugins::trains(const Json& job) const { return trains(ancestor_of(job), name_of(job)); }
bool ActivePlugins::trains(const PodSet& pods) const { return trains(pods.ancestor, pods.name); }

bool ActivePlugins::gets_resources_per_node(const Json& job) const {
    return ml_policy().is_object() && trains(job);
}

bool ActivePlugins::takes_image(const Json& job) const {
    if (job["template"]["metadata"]["annotations"][keeps_image_annotation] == "true") return false;
    return ancestor_of(job) == api::ancestor_trainer ||
           std::any_of(begin(), end(), [&](const Plugin* plugin) {
               return plugin->also_runs_program(plugin->policy_of(runtime_), name_of(job));
           });
}

bool ActivePlugins::runs_program(const Json& job) const {
    return trains(job) || std::any_of(begin(), end(), [&](const Plugin* plugin) {
               return plugin->also_has_processes(plugin->policy_of(runtime_), name_of(job));
           });
}

bool ActivePlugins::is_scaled(std::string_view ancestor, std::string_view job) const {
    return scaling_ ? job == scaling_->policy()->scaled_job : ancestor == api::ancestor_trainer;
}

bool ActivePlugins::has_nodes(const Json& job) const {
    if (is_scaled(job)) return true;
    return trains(job) && (!scaling_ || trains({}, scaling_->policy()->scaled_job));
}

bool ActivePlugins::is_scaled(const Json& job) const { return is_scaled(ancestor_of(job), name_of(job)); }
bool ActivePlugins::is_scaled(const PodSet& pods) const { return is_scaled(pods.ancestor, pods.name); }

std::int64_t ActivePlugins::scaled_pods(std::int64_t num_nodes) const {
    return scaling_ ? scaling_->scaled_pods(scaling_->policy_of(runtime_), num_nodes) : num_nodes;
}

std::optional<std::int64_t> ActivePlugins::least_pods(const PodSet& pods) const {
    if (pods.ancestor != api::ancestor_trainer) return std::nullopt;
    for (const Plugin* plugin : plugins_)
        if (const auto least = plugin->least_nodes(plugin->policy_of(runtime_)))
            return std::min(pods.count, *least);
    return std::nullopt;
}

bool ActivePlugins::takes_processes(const Json& job) const {
    return std::any_of(begin(), end(), [&](const Plugin* plugin) {
        return plugin->takes_processes(plugin->policy_of(runtime_), job);
    });
}

bool ActivePlugins::adds_container(std::string_view job, std::string_view name) const {
    return std::any_of(begin(), end(), [&](const Plugin* plugin) {
        const Policy* policy = plugin->policy();
        return policy && !name.empty() && policy->added_container == name && policy->added_to == job;
    });
}

bool ActivePlugins::depends_on_devices(const Json& trainer) const {
    return std::any_of(begin(), end(), [&](const Plugin* plugin) {
        return plugin->depends_on_devices(plugin->policy_of(runtime_), trainer);
    });
}

bool ActivePlugins::says_processes(const Json& trainer) const {
    return !trainer["numProcPerNode"].is_null() || std::any_of(begin(), end(), [&](const Plugin* plugin) {
        return plugin->policy_of(runtime_)["numProcPerNode"].is_number();
    });
}

std::vector<std::string_view> ActivePlugins::shared_claims() const {
    std::vector<std::string_view> names;
    for (const Plugin* plugin : plugins_)
        for (const Json& claim : plugin->shared_claims(plugin->policy_of(runtime_)).items())
            names.push_back(claim["name"].as_string());
    return names;
}

bool ActivePlugins::counts_devices() const { return any_policy(plugins_, &Policy::counts_devices); }
bool ActivePlugins::marks_runs() const { return any_policy(plugins_, &Policy::marks_runs); }
bool ActivePlugins::places_env() const { return any_policy(plugins_, &Policy::places_env); }
bool ActivePlugins::wraps_program() const { return any_policy(plugins_, &Policy::wraps_program); }

std::vector<api::Resource> owned_kinds(const Pipeline& pipeline) {
    std::vector<api::Resource> kinds;
    for (const auto& plugin : pipeline)
        if (const Policy* policy = plugin->policy(); policy && policy->owned_kind)
            kinds.push_back(*policy->owned_kind);
    return kinds;
}

api::Result<> check_runtime_shape(const Json& runtime, const Pipeline& pipeline) {
    if (auto shape = check_shape_without_policies(runtime); !shape) return shape;
    const merge::Place root;
    const merge::Place spec = {.outer = &root, .member = "spec"};
    for (const auto& plugin : pipeline) {
        const Json& value = plugin->policy_of(runtime);
        if (value.is_null() || plugin->policy()->is_setting) continue;
        const merge::Place group = {.outer = &spec, .member = plugin->policy()->group};
        const merge::Place place = {.outer = &group, .member = plugin->policy()->member};
        if (auto shape = check_shape(value, *plugin->policy()->shape, place); !shape) return shape;
    }
    return {};
}

}  // namespace runtime
