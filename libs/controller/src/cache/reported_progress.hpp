#pragma once
#include "api/json.hpp"
#include "controller/cache/progress_index.hpp"

namespace controller {

/// Returns the index of a TrainJob, and reduces its `status.trainerStatus` to what deadlines need: nothing if
/// it has none, or is `at_rest`. `job` is the object but for the spec's deadlines of other kinds; removes
/// the resourceVersion, which is known without.
ProgressIndex transform_progress(api::Json& object, const api::TrainJob& job, bool at_rest,
                                 lifecycle::ProgressWatch watch, api::Time now);

}  // namespace controller
