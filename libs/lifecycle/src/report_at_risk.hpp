#pragma once
#include "lifecycle/conclusion.hpp"

namespace lifecycle {

/// Adds a Warning event of a TrainJob that will not finish before its active deadline: once, until it fits
/// again. To be called after everything that sets the retry state.
void report_at_risk(Conclusion& conclusion, const Observed& observed, api::Time now);

}  // namespace lifecycle
