#pragma once
#include "api/train_job.hpp"

namespace lifecycle {

/// Where a TrainJob stands, by what its status says; each is in exactly one of these.
enum class State {
    pending,  ///< nothing has been said yet
    blocked,  ///< its JobSet cannot be made, Created=False; or does not go on, Stalled
    running,  ///< it has a JobSet, which may still wait for its Pods
    suspended,
    complete,
    failed,
    elsewhere  ///< managedBy names another controller
};
inline constexpr std::size_t state_count = 7;

/// Needs `conditions`, `jobs_status` and `managed_by` of the job.
State state_of(const api::TrainJob& job);

}  // namespace lifecycle
