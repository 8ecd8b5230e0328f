#include "plugins/gang/exclusive_topology.hpp"

#include <algorithm>

namespace runtime {
namespace {

using api::Json;

// With YuniKorn the first Pod gets a node, since placeholders stand for those that are not there yet.
constexpr std::string_view waiting_policies[] = {"coscheduling", "volcano"};

std::string_view waiting_policy(const Json& runtime) {
    for (const std::string_view policy : waiting_policies)
        if (runtime["spec"]["podGroupPolicy"][policy].is_object()) return policy;
    return {};
}

}  // namespace

bool waits_for_first_pod(const Json& exclusive, const Json& labelled) {
    return !exclusive.is_null() && labelled.is_null();
}

std::string exclusive_gang_warning(const Json& runtime, const Json& job_set_spec, bool all_jobs,
                                   const std::vector<PodSet>& pod_sets) {
    const std::string_view policy = waiting_policy(runtime);
    if (policy.empty()) return {};
    const auto& jobs = job_set_spec["replicatedJobs"].items();
    const bool waits = std::any_of(pod_sets.begin(), pod_sets.end(), [&](const PodSet& pods) {
        const Json& own = jobs[pods.index]["template"]["metadata"]["annotations"];
        return pods.least.value_or(pods.count) > 1 &&
               (all_jobs ? own[labelled_nodes].is_null()
                         : waits_for_first_pod(own[exclusive_topology], own[labelled_nodes]));
    });
    if (!waits) return {};
    return "no Pod will start: podGroupPolicy." + std::string(policy) +
           " waits for all Pods, JobSet's exclusive-topology for the first";
}

}  // namespace runtime
