#pragma once
#include "api/train_job.hpp"

namespace lifecycle {

/// The state of a TrainJob by its status. Each TrainJob is in exactly one of these.
enum class State {
    pending,  ///< its status shows no JobSet, and no reason against one
    blocked,  ///< its JobSet cannot be made (Created is not True) or does not go on (Stalled)
    running,  ///< it has a JobSet, which may still wait for its Pods
    suspended,
    complete,
    failed,
    elsewhere  ///< managedBy names another controller
};
inline constexpr std::size_t state_count = 7;

/// Returns the state by `conditions`, `jobs_status` and `managed_by` of the job.
State state_of(const api::TrainJob& job);

}  // namespace lifecycle
