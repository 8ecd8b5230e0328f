// The scheduler plugin "Coscheduling" (sigs.k8s.io/scheduler-plugins): a label makes Pods a gang.
#include "plugins/gang/gang.hpp"
#include "plugins/plugins.hpp"

namespace runtime {
namespace {

using api::Json;

constexpr std::string_view pod_group_api_version = "scheduling.x-k8s.io/v1alpha1";
constexpr std::string_view pod_group_label = "scheduling.x-k8s.io/pod-group";
constexpr std::int64_t default_timeout = 60;  // seconds; the CRD's

class Coscheduling final : public Plugin {
public:
    std::string_view name() const override { return "coscheduling"; }

    void add_needs(const NeedsContext& context, Needs& needs) const override {
        if (context.runtime["spec"]["podGroupPolicy"]["coscheduling"].is_object())
            add_gang_needs(context, pod_group_api_version, needs);
    }

    api::Result<> enforce_pod_group_policy(const Inputs&, Info& info) const override {
        if (!info.pod_group_policy["coscheduling"].is_object()) return {};
        for (const PodSet* pods : gang_members(info))
            info.pod_template(*pods)["metadata"]["labels"][pod_group_label] = info.job.meta.name;
        return check_only_gang_policy(info);
    }

    api::Result<> build(const Inputs& inputs, Info& info, Built& built) const override {
        const Json& policy = info.pod_group_policy["coscheduling"];
        if (!policy.is_object()) return {};
        auto group = make_pod_group(inputs, info, pod_group_api_version);
        if (!group) return group.error();
        (*group)["spec"]["scheduleTimeoutSeconds"] = policy["scheduleTimeoutSeconds"].int_or(default_timeout);
        built.objects.push_back({std::move(*group), ApplyPolicy::with_job_set});
        return {};
    }
};

}  // namespace

std::unique_ptr<Plugin> make_coscheduling() { return std::make_unique<Coscheduling>(); }

}  // namespace runtime
