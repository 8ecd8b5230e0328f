#pragma once
#include <vector>

#include "lifecycle/observed.hpp"

namespace lifecycle {

/// Returns the `jobsStatus` to store: those of the jobs that its attempt lacks, since they have succeeded in
/// an earlier one, then the JobSet's counts in its order. Without an own JobSet, or before it
/// has counts, the stored entries stay, but with no ready, active or suspended Jobs.
std::vector<api::JobStatus> jobs_status(const Observed& observed);

/// Returns whether a status from this view would be the first to say that a suspended job has no active pods.
/// Queues take that for the end of an eviction and give its nodes away, so an old view must not say it. False
/// for a job that has ended.
bool reports_no_active_pods(const Observed& observed);

}  // namespace lifecycle
