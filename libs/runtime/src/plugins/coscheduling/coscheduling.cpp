// The scheduler plugin "Coscheduling" (sigs.k8s.io/scheduler-plugins): a label makes Pods a gang.
#include "plugins/gang/gang.hpp"
#include "runtime/plugin.hpp"

namespace runtime {
namespace {

using api::Json;

constexpr api::Resource pod_groups = {"scheduling.x-k8s.io", "v1alpha1", "podgroups", true, "PodGroup"};
constexpr std::string_view pod_group_label = "scheduling.x-k8s.io/pod-group";
constexpr std::int64_t default_timeout = 60;  // seconds; the default of the CRD

// 0 is the scheduler's own default.
constexpr NumberBound numbers[] = {{"scheduleTimeoutSeconds", 0}};

constexpr Policy coscheduling_policy = {
    .group = pod_group_policy_group, .member = "coscheduling", .numbers = numbers, .owned_kind = &pod_groups};

constexpr api::RuleId admission_rules[] = {api::RuleId("coscheduling")};

class Coscheduling final : public NamedGangPlugin {
public:
    using NamedGangPlugin::NamedGangPlugin;

    std::string_view name() const override { return "coscheduling"; }
    const Policy* policy() const override { return &coscheduling_policy; }

    void add_needs(const NeedsContext& context, Needs& needs) const override {
        add_gang_needs(context, pod_groups, needs);
    }

    std::span<const api::RuleId> rules() const override { return admission_rules; }
    void validate(const ValidationInputs& review, api::FieldErrors& errors) const override {
        refuse_empty_gang(coscheduling_policy.member, review, errors);
    }

    api::Result<> enforce_pod_group_policy(const Inputs&, Info& info) const override {
        for (const GangJob& each : gang_of(info.spec, info.pod_sets))
            info.pod_template(*each.pods)["metadata"]["labels"][pod_group_label] = info.job.meta.name;
        name_scheduler(info);
        return check_only_gang_policy(info);
    }

    api::Result<> build(const Inputs& inputs, Info& info, Built& built) const override {
        if (auto error = empty_gang(coscheduling_policy.member, info)) return *std::move(error);
        const Gang gang = without_done(gang_of(info.spec, info.pod_sets));
        auto group = make_pod_group(inputs, info, gang, pod_groups);
        if (!group) return group.error();
        Json& members = (*group)["spec"]["minMember"];
        if (members == Json(0)) members = 1;  // none of them runs again, and their followers go on
        (*group)["spec"]["scheduleTimeoutSeconds"] =
            policy_of(inputs.runtime)["scheduleTimeoutSeconds"].int_or(default_timeout);
        built.objects.push_back({std::move(*group), ApplyPolicy::with_job_set});
        return {};
    }
};

}  // namespace

std::unique_ptr<Plugin> make_coscheduling(std::string scheduler) {
    return std::make_unique<Coscheduling>(std::move(scheduler));
}

}  // namespace runtime
