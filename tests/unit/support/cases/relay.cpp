// A framework whose processes talk through a Relay: an object of the TrainJob's name that its own controller
// serves.
#include "api/names.hpp"
#include "runtime/plugin.hpp"
#include "template/edit.hpp"

namespace runtime {
namespace {

using api::Json;

constexpr api::Resource relays = {"example.com", "v1", "relays", true, "Relay"};
constexpr api::Resource relay_classes = {"example.com", "v1", "relayclasses", false, "RelayClass"};

constexpr Policy relay_policy = {
    .group = ml_policy_group, .member = "relay", .needs_host_names = true, .owned_kind = &relays};
constexpr api::RuleId relay_rules[] = {api::RuleId("relay_class")};
constexpr api::RuleId relay_warnings[] = {api::RuleId("relay_without_class")};
constexpr std::string_view relay_conditions[] = {"RelayInUse"};

class Relay final : public Plugin {
public:
    std::string_view name() const override { return "relay"; }
    const Policy* policy() const override { return &relay_policy; }

    // What is built.
    void add_needs(const NeedsContext& context, Needs& needs) const override {
        needs.objects.push_back(
            {.resource = relays, .key = context.job.meta.key(), .apply = ApplyPolicy::with_job_set});
    }
    api::Result<> enforce_ml_policy(const Inputs&, Info& info) const override {
        const PodSet* pods = info.trainer_pod_set();
        Json* node = pods ? info.container(*pods, api::node_container) : nullptr;
        if (node) upsert_env(*node, env_value("RELAY_ADDRESS", info.job.meta.name + "-relay:7000"));
        return {};
    }
    api::Result<> build(const Inputs& inputs, Info& info, Built& built) const override {
        Json relay = Json::object({{"apiVersion", api_version(relays)}, {"kind", relays.kind}});
        relay["metadata"]["name"] = info.job.meta.name;
        relay["spec"]["class"] = policy_of(inputs.runtime)["class"];
        built.objects.push_back({std::move(relay), ApplyPolicy::with_job_set});
        return {};
    }

    // What is denied.
    std::span<const api::RuleId> rules() const override { return relay_rules; }
    void add_review_needs(const Json& runtime, std::vector<Need>& needs) const override {
        needs.push_back(class_of(runtime));
    }
    void validate(const ValidationInputs& review, api::FieldErrors& errors) const override {
        const Need wanted = class_of(review.runtime);
        if (review.observed && !find_observed(*review.observed, wanted))
            errors.push_back({.field = "spec.runtimeRef",
                              .value = review.job.runtime_ref.name,
                              .detail = "RelayClass \"" + wanted.key.name + "\" does not exist"});
    }

    // What is warned of.
    std::span<const api::RuleId> warning_rules() const override { return relay_warnings; }
    void add_runtime_warnings(const Json& runtime, const ActivePlugins&,
                              api::Warnings& warnings) const override {
        if (policy_of(runtime)["class"].is_null())
            warnings.push_back("spec.mlPolicy.relay.class: without it the Relay is of the default class");
    }

    // What the status says.
    std::span<const std::string_view> condition_types() const override { return relay_conditions; }
    void add_conditions(const ConditionsContext& context,
                        std::vector<api::Condition>& conditions) const override {
        const bool used = context.job_set && context.job_set->any_active();
        conditions.push_back({.type = "RelayInUse",
                              .status = used ? "True" : "False",
                              .reason = used ? "PodsRun" : "NoPods",
                              .message = "the Relay of the TrainJob's name"});
    }

private:
    Need class_of(const Json& runtime) const {
        return {.resource = relay_classes,
                .key = {.name = std::string(policy_of(runtime)["class"].as_string())}};
    }
};

}  // namespace

std::unique_ptr<Plugin> make_relay() { return std::make_unique<Relay>(); }

}  // namespace runtime
