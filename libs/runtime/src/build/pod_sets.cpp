#include "build/pod_sets.hpp"

#include <algorithm>
#include <limits>

#include "api/names.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::Json;

std::int64_t at_least_one(const Json& count) { return std::max<std::int64_t>(1, count.int_or(1)); }

// Returns the number of Pods by the runtime alone; at least one.
std::int64_t base_count(const Json& replicated_job, std::string_view ancestor, const Json& ml_policy) {
    if (ancestor == api::ancestor_trainer && ml_policy.is_object())
        return nodes_that_train(ml_policy, std::nullopt);
    return at_least_one(replicated_job["template"]["spec"]["parallelism"]);
}

}  // namespace

std::vector<PodSet> count_pods(const Json& spec, const ActivePlugins& plugins,
                               std::optional<std::int64_t> num_nodes) {
    std::vector<PodSet> pod_sets;
    bool scaled = false;  // numNodes scales only the first
    for (const Json& job : spec["replicatedJobs"].items()) {
        PodSet pods;
        pods.name = job["name"].as_string();
        pods.ancestor = ancestor_of(job);
        pods.count = base_count(job, pods.ancestor, plugins.ml_policy());
        // The steps of a TrainJob run once each.
        if (!is_known_ancestor(pods.ancestor))
            pods.replicas = std::max<std::int64_t>(0, job["replicas"].int_or(1));
        pods.index = pod_sets.size();
        if (num_nodes && !scaled && plugins.is_scaled(pods)) {
            pods.count = plugins.scaled_pods(*num_nodes);
            scaled = true;
        }
        pods.least = plugins.least_pods(pods);
        pod_sets.push_back(std::move(pods));
    }
    return pod_sets;
}

std::int64_t with_pods(std::int64_t pods, std::int64_t replicas, std::int64_t of_replica) {
    std::int64_t more = 0;
    const bool fits =
        !__builtin_mul_overflow(replicas, of_replica, &more) && !__builtin_add_overflow(pods, more, &pods);
    return fits ? pods : std::numeric_limits<std::int64_t>::max();
}

std::int64_t nodes_that_train(const Json& ml_policy, std::optional<std::int64_t> num_nodes) {
    return num_nodes.value_or(at_least_one(ml_policy["numNodes"]));
}

bool is_known_ancestor(std::string_view ancestor) {
    return ancestor == api::ancestor_trainer || is_initializer(ancestor);
}

}  // namespace runtime
