#include "build/grace_period.hpp"
#include "runtime/plugin.hpp"

namespace runtime {
namespace {

// Gives Pods that run the program the time of the runtime to end. A runtime without that field builds what it
// built before the field was there.
class GracePeriod final : public Plugin {
public:
    std::string_view name() const override { return "graceperiod"; }

    api::Result<> enforce_pod_spec(const Inputs& inputs, Info& info) const override {
        for (const PodSet& pods : info.pod_sets)
            if (const auto seconds = grace_period(inputs.runtime, info, pods))
                info.pod_spec(pods)[grace_period_member] = *seconds;
        return {};
    }
};

}  // namespace

std::unique_ptr<Plugin> make_grace_period() { return std::make_unique<GracePeriod>(); }

}  // namespace runtime
