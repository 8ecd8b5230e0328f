#include "api/names.hpp"
#include "build/steps.hpp"
#include "runtime/plugin.hpp"

namespace runtime {
namespace {

using api::Json;

// Runtimes without a framework: sets the trainer's environment and nothing else. Frameworks whose variables
// the environment may refer to place it themselves, after those.
class PlainMl final : public Plugin {
public:
    std::string_view name() const override { return "plainml"; }

    api::Result<> enforce_ml_policy(const Inputs&, Info& info) const override {
        if (info.plugins.places_env()) return {};
        if (const PodSet* pods = info.trainer_pod_set())
            if (Json* node = info.container(*pods, api::node_container)) add_trainer_env(info, *node);
        return {};
    }
};

}  // namespace

std::unique_ptr<Plugin> make_plain_ml() { return std::make_unique<PlainMl>(); }

}  // namespace runtime
