#pragma once
#include <vector>

#include "lifecycle/observed.hpp"

namespace lifecycle {

/// `jobsStatus` as it ought to be: the JobSet's counts in its order. Without a JobSet of ours, or before it
/// has counts, what was known stays, but nothing of it is ready, active or suspended any more.
std::vector<api::JobStatus> jobs_status(const Observed& observed);

/// Whether a status from this view would be the first to say that a suspended job has no active pods. Queues
/// take that for the end of an eviction and give its nodes away, so an old view must not say it. Of a job
/// that has ended nothing more is said.
bool reports_no_active_pods(const Observed& observed);

}  // namespace lifecycle
