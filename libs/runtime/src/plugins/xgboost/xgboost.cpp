#include <algorithm>
#include <limits>

#include "api/names.hpp"
#include "build/trainer_errors.hpp"
#include "runtime/plugin.hpp"
#include "template/edit.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::Json;

constexpr std::int64_t most_workers = std::numeric_limits<std::int32_t>::max();
constexpr std::string_view reserved[] = {"DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID",
                                         "DMLC_NUM_WORKER"};

constexpr api::RuleId admission_rules[] = {api::RuleId("xgboost_reserved_env")};

constexpr Policy xgboost_policy = {.group = ml_policy_group,
                                   .member = "xgboost",
                                   .needs_host_names = true,
                                   .counts_devices = true,
                                   .port_variable = "DMLC_TRACKER_PORT"};

// Returns the workers of a node: as many as the TrainJob says, else one per device, else one.
std::int64_t workers_per_node(const Info& info) {
    return std::max<std::int64_t>(1, info.trainer["numProcPerNode"].int_or(info.devices.count));
}

// Sets the tracker's address and the number of workers of every XGBoost worker.
class XgBoost final : public Plugin {
public:
    std::string_view name() const override { return "xgboost"; }
    const Policy* policy() const override { return &xgboost_policy; }
    std::span<const api::RuleId> rules() const override { return admission_rules; }
    bool takes_processes(const Json&, const Json& job) const override {
        return takes_program(job) && find_named(pod_spec_of(job)["containers"], api::node_container);
    }

    bool depends_on_devices(const Json&, const Json& trainer) const override {
        return trainer["numProcPerNode"].is_null();
    }

    void validate(const ValidationInputs& review, api::FieldErrors& errors) const override {
        const auto& env = review.job.spec["trainer"]["env"].items();
        for (std::size_t i = 0; i < env.size(); ++i)
            if (const std::string_view entry = env[i]["name"].as_string();
                std::find(std::begin(reserved), std::end(reserved), entry) != std::end(reserved))
                errors.push_back({api::FieldErrorType::forbidden,
                                  "spec.trainer.env[" + std::to_string(i) + "]",
                                  {},
                                  std::string(entry) + " is reserved for the XGBoost runtime",
                                  {}});
    }

    api::Result<> enforce_ml_policy(const Inputs&, Info& info) const override {
        const PodSet* pods = info.trainer_pod_set();
        if (!pods) return {};
        Json* node = info.container(*pods, api::node_container);
        if (!node) return {};
        if (depends_on_devices(info.ml_policy["xgboost"], info.trainer)) info.note_unknown_devices();
        const std::int64_t per_node = workers_per_node(info);
        const std::int64_t nodes = std::max<std::int64_t>(0, pods->count);
        if (nodes > most_workers / per_node)
            return api::invalid("spec.trainer.numNodes",
                                "nodes times workers of a node makes more than 2^31 XGBoost workers");
        const std::int64_t port = info.rendezvous_port(*pods);
        upsert_env(*node, env_value("DMLC_TRACKER_URI", info.first_endpoint()));
        upsert_env(*node, env_value("DMLC_TRACKER_PORT", std::to_string(port)));
        upsert_env(*node, env_rank("DMLC_TASK_ID"));
        upsert_env(*node, env_value("DMLC_NUM_WORKER", std::to_string(nodes * per_node)));
        return info.declare_rendezvous_port(*pods);
    }
};

}  // namespace

std::unique_ptr<Plugin> make_xgboost() { return std::make_unique<XgBoost>(); }

}  // namespace runtime
