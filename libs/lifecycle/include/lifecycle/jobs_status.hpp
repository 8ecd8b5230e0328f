#pragma once
#include <vector>

#include "lifecycle/observed.hpp"

namespace lifecycle {

/// `jobsStatus` as it ought to be: the JobSet's counts in its order. Without a JobSet of ours, or before it
/// has counts, what was known stays, but nothing of it is ready, active or suspended any more.
std::vector<api::JobStatus> jobs_status(const Observed& observed);

}  // namespace lifecycle
