#include "admission/reviews.hpp"

namespace admission {

runtime::Features features_of(const runtime::FeatureGates& gates) {
    runtime::Features features;
    if (runtime::Gates(gates).has(runtime::Gate::status)) features.status_server.emplace();
    return features;
}

}  // namespace admission
