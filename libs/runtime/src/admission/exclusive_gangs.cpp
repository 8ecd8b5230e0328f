// JobSet creates one Pod of a Job with its annotation for exclusive topology, and the others once that has a
// node. Coscheduling and Volcano give no Pod a node before all are there. YuniKorn holds room for Pods that
// come later.
#include <algorithm>

#include "admission/validation_context.hpp"
#include "build/pod_sets.hpp"
#include "plugins/gang/gang.hpp"

namespace runtime {
namespace {

using api::Json;

constexpr std::string_view exclusive_key = "alpha.jobset.sigs.k8s.io/exclusive-topology";
// Nodes are labelled beforehand, and all Pods are created at once.
constexpr std::string_view labelled_key = "alpha.jobset.sigs.k8s.io/node-selector";

constexpr std::string_view waiting_policies[] = {"coscheduling", "volcano"};

std::string_view waiting_policy(const Json& runtime) {
    for (const std::string_view policy : waiting_policies)
        if (runtime["spec"]["podGroupPolicy"][policy].is_object()) return policy;
    return {};
}

bool waits_for_first_pod(const Json& exclusive, const Json& labelled) {
    return !exclusive.is_null() && labelled.is_null();
}

std::string warning_of(const Json& runtime, const Json& job_set_spec, bool all_jobs,
                       const std::vector<PodSet>& pod_sets) {
    const std::string_view policy = waiting_policy(runtime);
    if (policy.empty()) return {};
    const auto& jobs = job_set_spec["replicatedJobs"].items();
    const bool waits = std::any_of(pod_sets.begin(), pod_sets.end(), [&](const PodSet& pods) {
        const Json& own = jobs[pods.index]["template"]["metadata"]["annotations"];
        return pods.count > 1 &&
               (all_jobs ? own[labelled_key].is_null()
                         : waits_for_first_pod(own[exclusive_key], own[labelled_key]));
    });
    if (!waits) return {};
    return "no Pod will start: podGroupPolicy." + std::string(policy) +
           " waits for all Pods, JobSet's exclusive-topology for the first";
}

void warn_of_exclusive_gang(const ValidationContext& review, api::Warnings& warnings) {
    if (!review.is_judged_as_new()) return;
    const ValidationInputs inputs = {.job = review.job,
                                     .runtime = review.runtime,
                                     .merged_spec = review.merged_spec,
                                     .plugins = review.plugins};
    const bool all_jobs = waits_for_first_pod(job_set_annotation(inputs, exclusive_key),
                                              job_set_annotation(inputs, labelled_key));
    const auto pod_sets = count_pods(review.merged_spec, review.plugins,
                                     review.job.spec["trainer"]["numNodes"].as_int());
    if (std::string text = warning_of(review.runtime, review.merged_spec, all_jobs, pod_sets); !text.empty())
        warnings.push_back(std::move(text));
}

constexpr Warner warnings[] = {
    {Rule::exclusive_gang, warn_of_exclusive_gang, RuleInput::merged_template},
};

}  // namespace

constinit const std::span<const Warner> exclusive_gang_warnings = warnings;

std::string exclusive_gang_warning(const Json& runtime, const ActivePlugins& plugins) {
    const Json& annotations = runtime["spec"]["template"]["metadata"]["annotations"];
    const Json& job_set_spec = runtime["spec"]["template"]["spec"];
    return warning_of(runtime, job_set_spec,
                      waits_for_first_pod(annotations[exclusive_key], annotations[labelled_key]),
                      count_pods(job_set_spec, plugins, std::nullopt));
}

}  // namespace runtime
