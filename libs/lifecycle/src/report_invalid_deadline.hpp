#pragma once
#include "lifecycle/conclusion.hpp"

namespace lifecycle {

/// Adds a Warning event of a progress deadline with errors, which admission denies, once. Such a deadline
/// counts as none. To be called after everything that sets the retry state.
void report_invalid_deadline(Conclusion& conclusion, const Observed& observed);

}  // namespace lifecycle
