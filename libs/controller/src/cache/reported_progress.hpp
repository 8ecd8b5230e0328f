#pragma once
#include "api/json.hpp"
#include "controller/cache/progress_index.hpp"

namespace controller {

/// Returns the index of a TrainJob. Reduces its `status.trainerStatus` to what deadlines need, which is
/// nothing without a deadline or `at_rest`. Removes the resourceVersion, which the store keeps beside the
/// object. `job`: the parsed object, of its spec only what these deadlines need.
ProgressIndex transform_progress(api::Json& object, const api::TrainJob& job, bool at_rest,
                                 lifecycle::ProgressWatch watch, api::Time now);

}  // namespace controller
