#pragma once
#include "lifecycle/observed.hpp"

namespace lifecycle {

/// Whether the TrainJob has, or had, a JobSet: what it began with is fixed.
bool has_begun(const Observed& observed);

/// Whether the status does not tell what a TrainJob that has begun, and not ended, began with:
/// Observed::snapshot_policy is to be filled in.
bool wants_snapshot_policy(const Observed& observed);

/// What the runtime says of this TrainJob: what it began with, and before that what the live runtime says.
/// nullptr: that is not known.
const api::RunPolicy* policy_of(const Observed& observed);

}  // namespace lifecycle
