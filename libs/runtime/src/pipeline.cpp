#include "runtime/plugin.hpp"

namespace runtime {

// Each is in the folder libs/runtime/src/plugins/<name>.
std::unique_ptr<Plugin> make_plain_ml();
std::unique_ptr<Plugin> make_torch();
std::unique_ptr<Plugin> make_jax();
std::unique_ptr<Plugin> make_xgboost();
std::unique_ptr<Plugin> make_initializers();
std::unique_ptr<Plugin> make_status(StatusServer server);
std::unique_ptr<Plugin> make_mpi();
std::unique_ptr<Plugin> make_flux();
std::unique_ptr<Plugin> make_coscheduling(std::string scheduler);
std::unique_ptr<Plugin> make_volcano(std::string scheduler);
std::unique_ptr<Plugin> make_yunikorn();
std::unique_ptr<Plugin> make_native_gang();
std::unique_ptr<Plugin> make_grace_period();
std::unique_ptr<Plugin> make_failure_policy();
std::unique_ptr<Plugin> make_disruption_budget();
std::unique_ptr<Plugin> make_network_policy();
std::unique_ptr<Plugin> make_job_set();

Pipeline make_pipeline(const Features& features) {
    Pipeline pipeline;
    pipeline.devices = features.devices;
    auto& list = pipeline.plugins;
    // The order is that of docs/design/building.md#the-order. Frameworks. PlainML first: it also serves those
    // whose variables follow the user's.
    list.push_back(make_plain_ml());
    list.push_back(make_torch());
    list.push_back(make_jax());
    list.push_back(make_xgboost());
    list.push_back(make_initializers());
    // The hook of `status` runs after all frameworks'. Its ConfigMap comes before the objects of those below.
    if (features.status_server) list.push_back(make_status(*features.status_server));
    list.push_back(make_mpi());
    list.push_back(make_flux());
    // At most one of these is on: they exclude each other.
    list.push_back(make_coscheduling(features.gang_schedulers.coscheduling));
    list.push_back(make_volcano(features.gang_schedulers.volcano));
    list.push_back(make_yunikorn());
    list.push_back(make_native_gang());
    list.push_back(make_grace_period());
    // After all that edit Jobs and containers, since it decides when a Job has failed.
    list.push_back(make_failure_policy());
    list.push_back(make_disruption_budget());
    list.push_back(make_network_policy());
    // Last: the other objects must exist before the Pods that mount them or are scheduled by them.
    list.push_back(make_job_set());
    return pipeline;
}

const Pipeline& default_pipeline() {
    static const Pipeline plugins = make_pipeline({});
    return plugins;
}

}  // namespace runtime
