#include "plugins/plugins.hpp"

namespace runtime {

const Pipeline& default_pipeline() {
    static const Pipeline plugins = [] {
        Pipeline list;
        // Frameworks. PlainML first: it also serves XGBoost and Flux, whose variables follow the user's.
        list.push_back(make_plain_ml());
        list.push_back(make_torch());
        list.push_back(make_jax());
        list.push_back(make_xgboost());
        list.push_back(make_mpi());
        list.push_back(make_flux());
        // Of these one at most: they exclude each other.
        list.push_back(make_coscheduling());
        list.push_back(make_volcano());
        // Last: every other object must exist before the Pods that mount it or are scheduled by it.
        list.push_back(make_job_set());
        return list;
    }();
    return plugins;
}

}  // namespace runtime
