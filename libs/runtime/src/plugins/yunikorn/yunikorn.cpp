// YuniKorn (yunikorn.apache.org): labels and annotations of the Pods make an application with task groups.
// There is no object beside the Pods, so a suspended TrainJob reserves nothing. The names are those of
// pkg/common/constants of yunikorn-k8shim 1.8.
#include <algorithm>

#include "api/dns_label.hpp"
#include "build/template_rules.hpp"
#include "plugins/gang/gang.hpp"
#include "plugins/yunikorn/gang_room.hpp"
#include "runtime/plugin.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::Json;

// YuniKorn schedules no Pod with another name.
constexpr std::string_view scheduler = "yunikorn";
constexpr std::string_view application_label = "yunikorn.apache.org/app-id";
/// The key of a label of Pods, and of an annotation of the JobSet's template.
constexpr std::string_view queue_key = "yunikorn.apache.org/queue";
constexpr std::string_view group_annotation = "yunikorn.apache.org/task-group-name";
constexpr std::string_view groups_annotation = "yunikorn.apache.org/task-groups";
constexpr std::string_view parameters_annotation = "yunikorn.apache.org/schedulingPolicyParameters";

// Every Pod of an application has its task groups, so the JobSet grows by the square of the jobs.
constexpr std::size_t most_jobs = 32;
constexpr std::size_t longest_groups = std::size_t{64} << 10U;
constexpr std::size_t longest_label_value = 63;

// The rule for a queue: YuniKorn makes its name a label of the Pods that hold a gang's room.
constexpr const char* queue_rule =
    "must be 1 to 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends";

// Returns why Pods of a job cannot be part of an application; empty if they can.
std::string wrong_scheduler(const Json& pod_spec) {
    return runtime::wrong_scheduler("yunikorn", scheduler, pod_spec);
}

// Returns the name of an application. It is unique in the cluster, since all namespaces share YuniKorn's
// applications, and another one after each resume: YuniKorn holds room once for an application, and knows it
// for half a minute after its last Pod. YuniKorn names Pods by the first characters, so the name has no dots.
std::string application_of(const api::TrainJob& job, std::size_t stage) {
    std::string rest = "-" + (job.meta.uid.empty() ? job.meta.ns : job.meta.uid);
    if (stage > 0) rest += "-" + std::to_string(stage);
    if (const std::string resumed = last_resume(job); !resumed.empty()) rest += "-" + resumed;
    if (rest.size() >= longest_label_value) return rest.substr(rest.size() - longest_label_value + 1);
    return job.meta.name.substr(0, longest_label_value - rest.size()) + rest;
}

// Returns the gangs of a TrainJob. The first one has the nodes, and the jobs that follow the nodes while they
// run. Other jobs, such as initializers, are gangs of their own: else YuniKorn would hold the nodes' room
// while they run.
std::vector<Gang> stages_of(const Info& info) {
    std::vector<Gang> stages = {gang_of(info.spec, info.pod_sets)};
    std::vector<bool> placed(info.pod_sets.size());
    for (const GangJob& each : stages.front()) placed[each.pods->index] = true;
    for (const PodSet& pods : info.pod_sets) {
        if (placed[pods.index]) continue;
        stages.push_back(started_with(info, pods.index));
        for (const GangJob& each : stages.back()) placed[each.pods->index] = true;
    }
    return stages;
}

// Returns the task group of a job. The Pods that hold its room must fit where the job's own Pods fit.
Json task_group(const GangRoom& room, const Json& pod_spec) {
    Json group = Json::object({{"name", room.job.pods->name}, {"minMember", room.job.count}});
    Json& resources = group["minResource"] = Json::object();
    for (const auto& [name, quantity] : room.requests) resources[name] = to_string(quantity);
    for (const std::string_view member_name :
         {"nodeSelector", "tolerations", "affinity", "topologySpreadConstraints"})
        if (!pod_spec[member_name].empty()) group[member_name] = pod_spec[member_name];
    return group;
}

std::string parameters_of(const Json& policy) {
    std::string text;
    const auto add = [&](std::string_view name, const std::string& value) {
        text += (text.empty() ? "" : " ") + std::string(name) + "=" + value;
    };
    if (const auto seconds = policy["placeholderTimeoutSeconds"].as_int())
        add("placeholderTimeoutInSeconds", std::to_string(*seconds));
    if (const auto style = policy["gangSchedulingStyle"].as_string(); !style.empty())
        add("gangSchedulingStyle", std::string(style));
    return text;
}

constexpr api::RuleId admission_rules[] = {api::RuleId("yunikorn")};

constexpr NumberBound numbers[] = {{"placeholderTimeoutSeconds", 1}};

constexpr Policy yunikorn_policy = {
    .group = pod_group_policy_group, .member = "yunikorn", .numbers = numbers, .marks_runs = true};

class YuniKorn final : public GangPlugin {
public:
    std::string_view name() const override { return "yunikorn"; }
    const Policy* policy() const override { return &yunikorn_policy; }
    std::span<const api::RuleId> rules() const override { return admission_rules; }

    void add_needs(const NeedsContext& context, Needs& needs) const override {
        add_request_needs(context, needs);
    }

    void validate(const ValidationInputs& review, api::FieldErrors& errors) const override {
        const auto refuse = [&](std::string why) { refuse_runtime(review, std::move(why), errors); };
        const Json& queue = job_set_annotation(review, queue_key);
        if (queue.is_string() && !api::is_name_part(queue.as_string()))
            refuse("the annotation " + std::string(queue_key) + " of the JobSet " + queue_rule);
        const auto& jobs = review.merged_spec["replicatedJobs"].items();
        for (std::size_t i = 0; i < std::min(jobs.size(), most_jobs); ++i)
            if (const std::string why = wrong_scheduler(pod_spec_of(jobs[i])); !why.empty())
                refuse(pod_spec_path(i) + ".schedulerName " + why);
        if (const auto priority = only_priority_class(review.merged_spec, "YuniKorn"); !priority)
            refuse(priority.error().field + ": " + priority.error().message);
    }

    api::Result<> enforce_pod_group_policy(const Inputs&, Info& info) const override {
        return check_only_gang_policy(info);
    }

    // Makes applications as late as this hook, since counts and resources are final in it.
    api::Result<> build(const Inputs& inputs, Info& info, Built&) const override {
        if (info.pod_sets.size() > most_jobs)
            return api::invalid(
                "spec.template.spec.replicatedJobs",
                "has at most " + std::to_string(most_jobs) + " jobs under podGroupPolicy.yunikorn");
        if (const auto priority = only_priority_class(info.spec, "YuniKorn"); !priority)
            return priority.error();
        const Json& policy = policy_of(inputs.runtime);
        const Json& chosen = std::as_const(info.annotations)[queue_key];
        const std::string queue(chosen.empty() ? policy["queue"].as_string() : chosen.as_string());
        if (!queue.empty() && !api::is_name_part(queue))
            return api::invalid(chosen.empty()
                                    ? "spec.podGroupPolicy.yunikorn.queue"
                                    : "spec.template.metadata.annotations[" + std::string(queue_key) + "]",
                                queue_rule);
        const std::string parameters = parameters_of(policy);
        const auto stages = stages_of(info);
        for (std::size_t stage = 0; stage < stages.size(); ++stage) {
            const std::string application = application_of(info.job, stage);
            if (auto made = make_application(inputs, info, stages[stage], application, queue, parameters);
                !made)
                return made;
        }
        return {};
    }

    std::optional<RelatedObjects> related_objects(const std::vector<Json>& pods) const override {
        std::string selector = selector_of_placeholders(pods);
        if (selector.empty()) return std::nullopt;
        return RelatedObjects{.resource = api::resources::pods, .labels = std::move(selector)};
    }
    void add_scheduling_problems(std::vector<Json>& pods, const std::vector<Json>& related) const override {
        add_missing_room(pods, related);
    }

private:
    static api::Result<> make_application(const Inputs& inputs, Info& info, const Gang& gang,
                                          const std::string& application, const std::string& queue,
                                          const std::string& parameters) {
        const auto rooms = gang_room(inputs, info, gang);
        if (!rooms) return rooms.error();
        Json groups = Json::array();
        for (const GangRoom& room : *rooms)
            if (room.job.count > 0)
                groups.push_back(task_group(
                    room, pod_spec_of(std::as_const(info.spec)["replicatedJobs"][room.job.pods->index])));
        const std::string text = to_json(groups);
        if (text.size() > longest_groups)
            return api::invalid(replicated_job_path(gang.front().pods->index),
                                "its Pods and those that start with it have tolerations, affinities and node "
                                "selectors of more than " +
                                    std::to_string(longest_groups) +
                                    " bytes, which YuniKorn's task groups repeat");
        for (const GangJob& each : gang) {
            Json& pod_spec = info.pod_spec(*each.pods);
            if (const std::string why = wrong_scheduler(pod_spec); !why.empty())
                return api::invalid(pod_spec_path(each.pods->index) + ".schedulerName", why);
            pod_spec["schedulerName"] = scheduler;
            Json& metadata = info.pod_template(*each.pods)["metadata"];
            metadata["labels"][application_label] = application;
            if (!queue.empty()) metadata["labels"][queue_key] = queue;
            Json& annotations = metadata["annotations"];
            annotations[group_annotation] = each.pods->name;
            annotations[groups_annotation] = text;
            if (!parameters.empty()) annotations[parameters_annotation] = parameters;
        }
        return {};
    }
};

}  // namespace

std::unique_ptr<Plugin> make_yunikorn() { return std::make_unique<YuniKorn>(); }

}  // namespace runtime
