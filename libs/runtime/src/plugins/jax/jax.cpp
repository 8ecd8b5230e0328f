#include "api/names.hpp"
#include "runtime/plugin.hpp"
#include "template/edit.hpp"

namespace runtime {
namespace {

using api::Json;

constexpr std::string_view address_variable = "JAX_COORDINATOR_ADDRESS";

constexpr Policy jax_policy = {.group = ml_policy_group,
                               .member = "jax",
                               .needs_host_names = true,
                               .places_env = true,
                               .port_variable = address_variable};

// Sets the number of processes, the rank and the coordinator's address of every JAX process
// (jax.distributed.initialize: coordinator_address, num_processes, process_id). One process per node.
class Jax final : public Plugin {
public:
    std::string_view name() const override { return "jax"; }
    const Policy* policy() const override { return &jax_policy; }

    api::Result<> enforce_ml_policy(const Inputs&, Info& info) const override {
        const PodSet* pods = info.trainer_pod_set();
        if (!pods) return {};
        Json* node = info.container(*pods, api::node_container);
        if (!node) return {};
        const std::int64_t port = info.rendezvous_port(*pods);
        upsert_env(*node, env_value("JAX_NUM_PROCESSES", std::to_string(pods->count)));
        upsert_env(*node, env_rank("JAX_PROCESS_ID"));
        upsert_env(*node, env_value(address_variable, info.first_endpoint() + ":" + std::to_string(port)));
        return info.declare_rendezvous_port(*pods);
    }
};

}  // namespace

std::unique_ptr<Plugin> make_jax() { return std::make_unique<Jax>(); }

}  // namespace runtime
