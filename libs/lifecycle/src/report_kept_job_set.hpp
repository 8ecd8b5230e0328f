#pragma once
#include "lifecycle/conclusion.hpp"

namespace lifecycle {

/// Adds a Warning event of a JobSet that stays as it was built, once. To be called after everything that sets
/// the retry state.
void report_kept_job_set(Conclusion& conclusion, const Observed& observed, const Decision& decision,
                         const Outcome& outcome);

}  // namespace lifecycle
