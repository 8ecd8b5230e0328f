#pragma once
#include "lifecycle/observed.hpp"

namespace lifecycle {

/// Returns whether the TrainJob has, or had, a JobSet: the run policy that it began with is fixed.
bool has_begun(const Observed& observed);

/// Returns whether the run policy of the snapshot counts: the TrainJob has begun and has not ended, and its
/// status does not say for sure with which run policy it began.
bool wants_snapshot_policy(const Observed& observed);

/// Returns whether Observed::snapshot_policy and `snapshot_digest` are to be filled in: that policy counts,
/// or neither the status nor the JobSet says with which runtime the TrainJob began, as of Kubeflow Trainer.
bool wants_snapshot(const Observed& observed);

/// Returns the run policy of the TrainJob: the one that it began with, and before that the one of the live
/// runtime. nullptr: not known.
const api::RunPolicy* policy_of(const Observed& observed);

}  // namespace lifecycle
