// Warnings about TrainJobs that Kueue counts or builds in another way than Signalbox, and about runtimes
// whose change affects queued TrainJobs. Kueue has Kubeflow Trainer's library compiled in: facts from its
// pkg/runtime of v2.2 (Kueue 0.17 to 0.19) and v2.3.0 (Kueue's main).
#include <algorithm>

#include "admission/validation_context.hpp"
#include "api/names.hpp"
#include "api/train_job.hpp"
#include "build/template_rules.hpp"
#include "merge/strategic_merge.hpp"
#include "resources/pod_requests.hpp"
#include "resources/resources.hpp"
#include "runtime/plugin.hpp"
#include "template/edit.hpp"

namespace runtime {
namespace {

using api::Json;

// Returns the resources that Kueue counts for the container that trains; nullopt: those of the template.
std::optional<Json> counted_by_kueue(const Json& job, const Json& of_container,
                                     const ValidationContext& review) {
    const Json& per_node = review.job.spec["trainer"]["resourcesPerNode"];
    const Json& policy = review.runtime["spec"]["mlPolicy"];
    if (!review.plugins.trains(job)) return std::nullopt;
    if (review.kueue_types == KueueTypes::v2_2) {
        // An empty map replaces the template's amounts, too.
        if (!per_node["limits"].is_object() && !per_node["requests"].is_object()) return std::nullopt;
        return Json::object({{"limits", per_node["limits"]}, {"requests", per_node["requests"]}});
    }
    if (!policy.is_object() || per_node.empty()) return std::nullopt;
    auto merged = merge::strategic_merge(of_container, per_node, merge::resource_requirements());
    return merged ? std::optional(std::move(*merged)) : std::nullopt;
}

// Returns whether two containers have the same limits and requests, from which the requests of a Pod follow.
bool has_same_resources(const Json& left, const Json& right) {
    return left["limits"] == right["limits"] && left["requests"] == right["requests"];
}

ResourceList requests_with(const Json& pod_spec, const Json* resources) {
    Json pod = pod_spec;
    if (Json* node = find_named(pod.find("containers"), api::node_container); node && resources)
        (*node)["resources"] = *resources;
    auto requests = pod_requests(pod, {});
    return requests ? std::move(*requests) : ResourceList();
}

std::string amount(const ResourceList& list, const std::string& name) {
    const auto found = list.find(name);
    return found == list.end() ? "0" : to_string(found->second);
}

bool enters_queue(const ValidationContext& review) {
    return !review.job.queue.empty() && (review.is_create() || review.old_job->queue.empty());
}

// Kueue's webhook adds its entry to every TrainJob.
bool passes_kueue(const ValidationContext& review) {
    if (!review.is_create()) return enters_queue(review);
    const auto& patches = review.job.spec["runtimePatches"].items();
    return !review.job.queue.empty() || std::any_of(patches.begin(), patches.end(), [](const Json& patch) {
        return patch["manager"].as_string() == api::kueue_manager;
    });
}

void warn_of_other_counts(const ValidationContext& review, api::Warnings& warnings) {
    if (review.kueue_types == KueueTypes::none || !enters_queue(review)) return;
    if (!validate_template(review.runtime, review.plugins).empty()) return;  // it will have no Pods
    const Json& per_node = review.job.spec["trainer"]["resourcesPerNode"];
    for (const Json& job : review.merged_spec["replicatedJobs"].items()) {
        const Json& pod_spec = job["template"]["spec"]["template"]["spec"];
        const Json* node = find_named(pod_spec["containers"], api::node_container);
        if (!node || per_node.empty()) continue;
        std::optional<Json> built_resources;
        if (review.plugins.gets_resources_per_node(job)) {
            auto merged = merged_resources((*node)["resources"], per_node);
            if (!merged) continue;  // an error says so
            built_resources = std::move(*merged);
        }
        const auto kueue_resources = counted_by_kueue(job, (*node)["resources"], review);
        if (has_same_resources(built_resources ? *built_resources : (*node)["resources"],
                               kueue_resources ? *kueue_resources : (*node)["resources"]))
            continue;
        const ResourceList built = requests_with(pod_spec, built_resources ? &*built_resources : nullptr);
        const ResourceList counted = requests_with(pod_spec, kueue_resources ? &*kueue_resources : nullptr);
        ResourceList all = built;
        all.insert(counted.begin(), counted.end());
        for (const auto& [name, any] : all)
            if (const std::string has = amount(built, name), sees = amount(counted, name); has != sees)
                warnings.push_back("Kueue counts " + name + " " + sees + " for job " +
                                   std::string(job["name"].as_string()) + ", its Pods request " + has);
    }
}

void warn_of_what_kueue_cannot_build(const ValidationContext& review, api::Warnings& warnings) {
    if (review.kueue_types == KueueTypes::none || !passes_kueue(review)) return;
    const ValidationInputs inputs = {.job = review.job,
                                     .runtime = review.runtime,
                                     .merged_spec = review.merged_spec,
                                     .plugins = review.plugins};
    for (const Plugin* plugin : review.plugins)
        if (const std::string why = plugin->kueue_obstacle(inputs, review.kueue_types); !why.empty())
            warnings.push_back("Kueue cannot build it: " + why);
}

// Updates that must pass can enter a queue.
constexpr Warner warnings[] = {
    {Rule::kueue_counts_differ, warn_of_other_counts, RuleInput::merged_template, true},
    {Rule::kueue_cannot_build, warn_of_what_kueue_cannot_build, RuleInput::runtime, true},
};

}  // namespace

void count_queued_jobs(const Json& page, std::string_view kind, std::string_view name, QueuedJobs& found) {
    for (const Json& item : page["items"].items()) {
        const api::TrainJob job = api::parse_train_job(item);
        const bool uses =
            is_supported(job.runtime_ref) && job.runtime_ref.kind == kind && job.runtime_ref.name == name;
        if (uses && !job.queue.empty() && !api::terminal_condition(job)) ++found.count;
    }
}

std::string warning_of_queued_jobs(const Json& object, const QueuedJobs& jobs) {
    if (jobs.count == 0 && !jobs.more) return {};
    std::string text = "queued TrainJobs may use it";
    if (jobs.count == 1 && !jobs.more)
        text = "1 queued TrainJob uses it";
    else if (jobs.count > 0)
        text = std::to_string(jobs.count) + (jobs.more ? " or more" : "") + " queued TrainJobs use it";
    return text + (object.is_null()
                       ? ": Kueue cannot count their Pods any more; delete those first"
                       : ": Kueue counts by what it is now; those that were built run as before");
}

constinit const std::span<const Warner> kueue_warnings = warnings;

}  // namespace runtime
