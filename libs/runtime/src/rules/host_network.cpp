#include <algorithm>

#include "build/trainer_errors.hpp"
#include "rules/runtime_rules.hpp"
#include "runtime/plugin.hpp"
#include "template/edit.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::Json;

// A node's DNS server knows no Pods, and it is asked for Pods with the node's network unless they say
// otherwise.
bool asks_its_node(const Json& pod_spec) {
    const std::string_view policy = pod_spec["dnsPolicy"].as_string();
    return pod_spec["hostNetwork"].bool_or(false) && policy != "ClusterFirstWithHostNet" && policy != "None";
}

// Returns the variable in which the program finds its port; empty if no plugin chooses it.
std::string_view variable_of_port(const ActivePlugins& plugins) {
    for (const Plugin* plugin : plugins)
        if (plugin->policy() && !plugin->policy()->port_variable.empty())
            return plugin->policy()->port_variable;
    return {};
}

bool keeps_usual_port(const Json& job, std::string_view variable) {
    const Json& pod_spec = pod_spec_of(job);
    const Json* const node = find_named(pod_spec["containers"], api::node_container);
    return node && takes_program(job) && pod_spec["hostNetwork"].bool_or(false) &&
           names_usual_port((*node)["command"], (*node)["args"], (*node)["env"], variable);
}

}  // namespace

std::set<std::string> host_network_warnings(const Json& runtime, const ActivePlugins& plugins) {
    const bool needs_names = std::any_of(plugins.begin(), plugins.end(), [](const Plugin* plugin) {
        return plugin->policy() && plugin->policy()->needs_host_names;
    });
    std::set<std::string> found;
    if (!needs_names) return found;
    for (const Json& job : jobs_of(runtime).items())
        if (const auto variable = variable_of_port(plugins);
            !variable.empty() && keeps_usual_port(job, variable))
            found.insert("job " + shortened(job["name"].as_string()) + ": with hostNetwork, port " +
                         std::to_string(usual_rendezvous_port) +
                         " is free for one job of a node: let its program take the one in " +
                         std::string(variable));
    for (const Json& job : jobs_of(runtime).items())
        if (asks_its_node(pod_spec_of(job)) && !is_initializer(ancestor_of(job)))
            found.insert(
                "job " + shortened(job["name"].as_string()) +
                ": hostNetwork needs dnsPolicy: ClusterFirstWithHostNet, or its Pods do not find each other");
    return found;
}

}  // namespace runtime
