#include <algorithm>

#include "rules/runtime_rules.hpp"
#include "runtime/plugin.hpp"
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

}  // namespace

std::set<std::string> host_network_warnings(const Json& runtime, const ActivePlugins& plugins) {
    const bool needs_names = std::any_of(plugins.begin(), plugins.end(), [](const Plugin* plugin) {
        return plugin->policy() && plugin->policy()->needs_host_names;
    });
    std::set<std::string> found;
    if (!needs_names) return found;
    for (const Json& job : jobs_of(runtime).items())
        if (asks_its_node(pod_spec_of(job)) && !is_initializer(ancestor_of(job)))
            found.insert(
                "job " + shortened(job["name"].as_string()) +
                ": hostNetwork needs dnsPolicy: ClusterFirstWithHostNet, or its Pods do not find each other");
    return found;
}

}  // namespace runtime
