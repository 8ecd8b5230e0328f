#include "admission/validation_context.hpp"
#include "build/pod_sets.hpp"
#include "plugins/gang/gang.hpp"

namespace runtime {
namespace {

using api::Json;

void warn_of_exclusive_gang(const ValidationContext& review, api::Warnings& warnings) {
    if (!review.is_reviewed_as_new()) return;
    const ValidationInputs inputs = {.job = review.job,
                                     .runtime = review.runtime,
                                     .merged_spec = review.merged_spec,
                                     .plugins = review.plugins};
    const bool all_jobs = waits_for_first_pod(job_set_annotation(inputs, exclusive_topology),
                                              job_set_annotation(inputs, labelled_nodes));
    const auto pod_sets =
        count_pods(review.merged_spec, review.plugins, review.job.spec["trainer"]["numNodes"].as_int());
    if (std::string text = exclusive_gang_warning(review.runtime, review.merged_spec, all_jobs, pod_sets);
        !text.empty())
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
    return exclusive_gang_warning(
        runtime, job_set_spec,
        waits_for_first_pod(annotations[exclusive_topology], annotations[labelled_nodes]),
        count_pods(job_set_spec, plugins, std::nullopt));
}

}  // namespace runtime
