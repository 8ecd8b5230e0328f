#include "plugins/plugins.hpp"

namespace runtime {
namespace {

constexpr const char* status_gate = "TrainJobStatus";

}  // namespace

api::Result<> check_gates(const FeatureGates& gates) {
    for (const auto& [name, on] : gates)
        if (name != status_gate)
            return api::Error{.code = api::Errc::invalid,
                              .message = "--feature-gates: there is no gate \"" + name +
                                         "\"; the only one is " + status_gate};
    return {};
}

bool has_status_gate(const FeatureGates& gates) {
    const auto gate = gates.find(status_gate);
    return gate != gates.end() && gate->second;
}

Pipeline make_pipeline(const Features& features) {
    Pipeline list;
    // The order is that of docs/design/building.md#the-order. Frameworks. PlainML first: it also serves those
    // whose variables follow the user's.
    list.push_back(make_plain_ml());
    list.push_back(make_torch());
    list.push_back(make_jax());
    list.push_back(make_xgboost());
    list.push_back(make_initializers());
    // Its own hook runs after all frameworks'; its ConfigMap precedes the objects of those below.
    if (features.status_server) list.push_back(make_status(*features.status_server));
    list.push_back(make_mpi());
    list.push_back(make_flux());
    // Of these one at most: they exclude each other.
    list.push_back(make_coscheduling());
    list.push_back(make_volcano());
    // Last: every other object must exist before the Pods that mount it or are scheduled by it.
    list.push_back(make_job_set());
    return list;
}

const Pipeline& default_pipeline() {
    static const Pipeline plugins = make_pipeline({});
    return plugins;
}

}  // namespace runtime
