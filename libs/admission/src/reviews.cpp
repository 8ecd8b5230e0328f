#include "admission/reviews.hpp"

namespace admission {

runtime::Features features_of(const runtime::FeatureGates& gates, runtime::DeviceTable accelerators) {
    runtime::Features features = {.devices = std::move(accelerators)};
    if (runtime::Gates(gates).has(runtime::Gate::status)) features.status_server.emplace();
    return features;
}

}  // namespace admission
