// A NetworkPolicy (networking.k8s.io/v1) that lets only Pods of the job reach its Pods.
#include "api/names.hpp"
#include "runtime/plugin.hpp"

namespace runtime {
namespace {

using api::Json;

constexpr api::Resource policies = {"networking.k8s.io", "v1", "networkpolicies", true, "NetworkPolicy"};

// Pods of a suspended or ended job may still end, and have open ports until then.
constexpr Policy isolation = {.group = {},
                              .member = "networkPolicy",
                              .is_setting = true,
                              .owned_kind = &policies,
                              .owned_for = OwnedFor::policy};

class NetworkPolicy final : public Plugin {
public:
    std::string_view name() const override { return "networkpolicy"; }
    const Policy* policy() const override { return &isolation; }

    void add_needs(const NeedsContext& context, Needs& needs) const override {
        needs.objects.push_back(
            {.resource = policies, .key = context.job.meta.key(), .apply = ApplyPolicy::always});
    }

    // Without `ports`, all of them: which one a program listens on is its own affair.
    api::Result<> build(const Inputs& /*inputs*/, Info& info, Built& built) const override {
        Json of_job;
        of_job["matchLabels"][api::job_set_name_label] = info.job.meta.name;
        Json from = Json::array({Json::object({{"podSelector", of_job}})});
        Json policy = Json::object({{"apiVersion", api_version(policies)}, {"kind", policies.kind}});
        policy["metadata"]["name"] = info.job.meta.name;
        Json& spec = policy["spec"];
        spec["podSelector"] = std::move(of_job);
        spec["policyTypes"] = Json::array({"Ingress"});
        spec["ingress"] = Json::array({Json::object({{"from", std::move(from)}})});
        built.objects.push_back({std::move(policy), ApplyPolicy::always});
        return {};
    }
};

}  // namespace

std::unique_ptr<Plugin> make_network_policy() { return std::make_unique<NetworkPolicy>(); }

}  // namespace runtime
