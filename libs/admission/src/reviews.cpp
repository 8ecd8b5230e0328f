#include "admission/reviews.hpp"

namespace admission {

runtime::Features features_of(const runtime::FeatureGates& gates, runtime::Features set) {
    if (runtime::Gates(gates).has(runtime::Gate::status)) set.status_server.emplace();
    return set;
}

}  // namespace admission
