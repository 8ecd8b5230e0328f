#include <algorithm>

#include "build/pod_sets.hpp"
#include "plugins/gang/gang.hpp"

namespace runtime {
namespace {

using api::Json;

constexpr api::RuleId warning_names[] = {exclusive_gang_rule};

// JobSet creates one Pod of a Job with this annotation, and the others once that Pod has a node.
constexpr std::string_view exclusive_topology = "alpha.jobset.sigs.k8s.io/exclusive-topology";
// With this annotation, too, nodes are labelled beforehand, and JobSet creates all Pods at once.
constexpr std::string_view labelled_nodes = "alpha.jobset.sigs.k8s.io/node-selector";

// Returns whether a JobSet or a job with these annotations waits for its first Pods; null: it has none.
bool waits_for_first_pod(const Json& exclusive, const Json& labelled) {
    return !exclusive.is_null() && labelled.is_null();
}

// `all_jobs`: the JobSet itself waits for first Pods.
void warn(std::string_view policy, const Json& job_set_spec, bool all_jobs,
          const std::vector<PodSet>& pod_sets, api::Warnings& warnings) {
    const auto& jobs = job_set_spec["replicatedJobs"].items();
    const bool waits = std::any_of(pod_sets.begin(), pod_sets.end(), [&](const PodSet& pods) {
        const Json& own = jobs[pods.index]["template"]["metadata"]["annotations"];
        return pods.least.value_or(pods.count) > 1 &&
               (all_jobs ? own[labelled_nodes].is_null()
                         : waits_for_first_pod(own[exclusive_topology], own[labelled_nodes]));
    });
    // A runtime may have two policies, although they exclude each other.
    const bool is_known = std::any_of(warnings.begin(), warnings.end(), [](const api::Warning& warning) {
        return warning.rule == exclusive_gang_rule;
    });
    if (waits && !is_known)
        warnings.push_back({.text = "no Pod will start: podGroupPolicy." + std::string(policy) +
                                    " waits for all Pods, JobSet's exclusive-topology for the first",
                            .rule = exclusive_gang_rule});
}

}  // namespace

std::span<const api::RuleId> WaitingGangPlugin::warning_rules() const { return warning_names; }

void WaitingGangPlugin::add_warnings(const ValidationInputs& review, api::Warnings& warnings) const {
    const bool all_jobs = waits_for_first_pod(job_set_annotation(review, exclusive_topology),
                                              job_set_annotation(review, labelled_nodes));
    const auto num_nodes = review.job.spec["trainer"]["numNodes"].as_int();
    warn(policy()->member, review.merged_spec, all_jobs,
         count_pods(review.merged_spec, review.plugins, num_nodes), warnings);
}

void WaitingGangPlugin::add_runtime_warnings(const Json& runtime, const ActivePlugins& plugins,
                                             api::Warnings& warnings) const {
    const Json& annotations = runtime["spec"]["template"]["metadata"]["annotations"];
    const Json& job_set_spec = runtime["spec"]["template"]["spec"];
    const bool all_jobs = waits_for_first_pod(annotations[exclusive_topology], annotations[labelled_nodes]);
    warn(policy()->member, job_set_spec, all_jobs, count_pods(job_set_spec, plugins, std::nullopt), warnings);
}

}  // namespace runtime
