#include "api/names.hpp"
#include "build/steps.hpp"
#include "plugins/plugins.hpp"

namespace runtime {
namespace {

using api::Json;

// No framework: the trainer's environment and nothing else. With JAX and MPI it comes after their variables,
// which it may refer to: they place it themselves.
class PlainMl final : public Plugin {
public:
    std::string_view name() const override { return "plainml"; }

    api::Result<> enforce_ml_policy(const Inputs&, Info& info) const override {
        for (const std::string_view other : {"jax", "mpi"})
            if (info.ml_policy[other].is_object()) return {};
        if (const PodSet* pods = info.trainer_pod_set())
            if (Json* node = info.container(*pods, api::node_container)) add_trainer_env(info, *node);
        return {};
    }
};

}  // namespace

std::unique_ptr<Plugin> make_plain_ml() { return std::make_unique<PlainMl>(); }

}  // namespace runtime
