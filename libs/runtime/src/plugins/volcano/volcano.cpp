// Volcano (volcano.sh): an annotation makes Pods a gang; queue, priority and topology are the gang's.
#include <algorithm>
#include <set>
#include <span>

#include "build/template_rules.hpp"
#include "plugins/gang/gang.hpp"
#include "runtime/plugin.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::Json;

constexpr api::Resource pod_groups = {"scheduling.volcano.sh", "v1beta1", "podgroups", true, "PodGroup"};
constexpr std::string_view group_annotation = "scheduling.k8s.io/group-name";
constexpr std::string_view queue_annotation = "scheduling.volcano.sh/queue-name";

// Returns whether the class exists in every cluster.
bool is_system_class(std::string_view name) {
    return name == "system-cluster-critical" || name == "system-node-critical";
}

Need priority_class_need(std::string_view name) {
    return {.resource = api::resources::priority_classes, .key = {"", std::string(name)}};
}

// The number of priority classes that are looked up. More are refused in any case, so it does not matter
// whether they exist.
constexpr std::size_t most_priority_classes = 8;

// Returns the names of the jobs' priority classes, in order, without repetition.
std::vector<std::string_view> priority_classes(const Json& job_set_spec) {
    std::vector<std::string_view> names;
    std::set<std::string_view> seen = {""};
    for (const Json& job : job_set_spec["replicatedJobs"].items())
        if (const auto name = pod_spec_of(job)["priorityClassName"].as_string(); seen.insert(name).second)
            names.push_back(name);
    return names;
}

constexpr api::RuleId admission_rules[] = {api::RuleId("volcano")};

constexpr NumberBound numbers[] = {{"networkTopology.highestTierAllowed", 0}};

constexpr Policy volcano_policy = {
    .group = pod_group_policy_group, .member = "volcano", .numbers = numbers, .owned_kind = &pod_groups};

class Volcano final : public NamedGangPlugin {
public:
    using NamedGangPlugin::NamedGangPlugin;

    std::string_view name() const override { return "volcano"; }
    const Policy* policy() const override { return &volcano_policy; }
    std::span<const api::RuleId> rules() const override { return admission_rules; }

    void add_needs(const NeedsContext& context, Needs& needs) const override {
        add_gang_needs(context, pod_groups, needs);
    }

    void add_review_needs(const Json& runtime, std::vector<Need>& needs) const override {
        auto names = priority_classes(runtime["spec"]["template"]["spec"]);
        if (names.size() > most_priority_classes) names.resize(most_priority_classes);
        for (const std::string_view name : names)
            if (!is_system_class(name)) needs.push_back(priority_class_need(name));
    }

    void validate(const ValidationInputs& review, api::FieldErrors& errors) const override {
        const auto refuse = [&](std::string why) { refuse_runtime(review, std::move(why), errors); };
        if (const Json& queue = job_set_annotation(review, queue_annotation);
            queue.is_string() && queue.as_string().empty())
            refuse("the annotation " + std::string(queue_annotation) + " of the JobSet must not be empty");
        const auto classes = priority_classes(review.merged_spec);
        bool all_exist = true;
        for (const std::string_view name :
             std::span(classes).first(std::min(classes.size(), most_priority_classes))) {
            if (!review.observed || is_system_class(name) ||
                find_observed(*review.observed, priority_class_need(name)))
                continue;
            all_exist = false;
            refuse("PriorityClass \"" + std::string(name) + "\" does not exist");
        }
        if (all_exist && classes.size() > 1)
            refuse("its jobs have different priority classes, \"" + std::string(classes[0]) + "\" and \"" +
                   std::string(classes[1]) + "\": under Volcano all have the same");
    }

    api::Result<> enforce_pod_group_policy(const Inputs&, Info& info) const override {
        for (const GangJob& each : gang_of(info.spec, info.pod_sets))
            info.pod_template(*each.pods)["metadata"]["annotations"][group_annotation] = info.job.meta.name;
        name_scheduler(info);
        return check_only_gang_policy(info);
    }

    api::Result<> build(const Inputs& inputs, Info& info, Built& built) const override {
        // Volcano counts Pods that have succeeded.
        auto group = make_pod_group(inputs, info, gang_of(info.spec, info.pod_sets), pod_groups);
        if (!group) return group.error();
        Json& spec = (*group)["spec"];
        if (const Json& queue = std::as_const(info.annotations)[queue_annotation]; !queue.as_string().empty())
            spec["queue"] = queue;
        const auto priority = only_priority_class(info.spec, "Volcano");
        if (!priority) return priority.error();
        if (!priority->empty()) spec["priorityClassName"] = *priority;
        if (const Json& topology = policy_of(inputs.runtime)["networkTopology"]; topology.is_object())
            for (const std::string_view member : {"mode", "highestTierAllowed"})
                if (!topology[member].is_null()) spec["networkTopology"][member] = topology[member];
        built.objects.push_back({std::move(*group), ApplyPolicy::with_job_set});
        return {};
    }
};

}  // namespace

std::unique_ptr<Plugin> make_volcano(std::string scheduler) {
    return std::make_unique<Volcano>(std::move(scheduler));
}

}  // namespace runtime
