// A PodDisruptionBudget (policy/v1) that lets no eviction take a Pod from a running job.
#include <limits>

#include "api/names.hpp"
#include "build/pod_sets.hpp"
#include "runtime/plugin.hpp"

namespace runtime {
namespace {

using api::Json;

constexpr api::Resource budgets = {"policy", "v1", "poddisruptionbudgets", true, "PodDisruptionBudget"};

// Alerts fire for a budget without its Pods, so it is there only while they may run.
constexpr Policy budget_policy = {.group = run_policy_group,
                                  .member = "disruptionBudget",
                                  .is_setting = true,
                                  .owned_kind = &budgets,
                                  .owned_for = OwnedFor::run};

// The Pods that run the program. Without a launcher that is no node, the job would fail as well.
struct Protected {
    std::int64_t pods = 0;
    Json jobs = Json::array();
    bool are_all = true;
};

Protected protected_by(const Info& info) {
    Protected found;
    for (const PodSet& pods : info.pod_sets) {
        if (info.plugins.runs_program(info.spec["replicatedJobs"][pods.index])) {
            found.pods = with_pods(found.pods, pods.replicas, pods.count);
            found.jobs.push_back(pods.name);
        } else {
            found.are_all = false;
        }
    }
    return found;
}

class DisruptionBudget final : public Plugin {
public:
    std::string_view name() const override { return "disruptionbudget"; }
    const Policy* policy() const override { return &budget_policy; }

    void add_needs(const NeedsContext& context, Needs& needs) const override {
        needs.objects.push_back(
            {.resource = budgets, .key = context.job.meta.key(), .apply = ApplyPolicy::during_run});
    }

    // A number: Jobs have no scale subresource, from which the share of a percentage or of `maxUnavailable`
    // would be computed.
    api::Result<> build(const Inputs& /*inputs*/, Info& info, Built& built) const override {
        Protected wanted = protected_by(info);
        if (wanted.pods == 0) return {};
        if (wanted.pods > std::numeric_limits<std::int32_t>::max())
            return api::invalid("spec.trainer.numNodes",
                                "makes more than 2^31 Pods, which no disruption budget can count");
        Json budget = Json::object({{"apiVersion", api_version(budgets)}, {"kind", budgets.kind}});
        budget["metadata"]["name"] = info.job.meta.name;
        Json& spec = budget["spec"];
        spec["minAvailable"] = wanted.pods;
        spec["selector"]["matchLabels"][api::job_set_name_label] = info.job.meta.name;
        if (!wanted.are_all)
            spec["selector"]["matchExpressions"] =
                Json::array({Json::object({{"key", api::replicated_job_label},
                                           {"operator", "In"},
                                           {"values", std::move(wanted.jobs)}})});
        built.objects.push_back({std::move(budget), ApplyPolicy::during_run});
        return {};
    }
};

}  // namespace

std::unique_ptr<Plugin> make_disruption_budget() { return std::make_unique<DisruptionBudget>(); }

}  // namespace runtime
