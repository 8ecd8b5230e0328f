#include "lifecycle/jobs_status.hpp"

#include <algorithm>
#include <iterator>

namespace lifecycle {
namespace {

// Leaves out entries for which the API server would refuse the whole status (a list keyed by name, of at most
// 100 entries).
std::vector<api::JobStatus> storable(const std::vector<api::JobStatus>& entries) {
    constexpr std::size_t max_entries = 100;
    std::vector<api::JobStatus> kept;
    for (const api::JobStatus& entry : entries) {
        const bool known =
            std::any_of(kept.begin(), kept.end(), [&](const auto& k) { return k.name == entry.name; });
        if (!entry.name.empty() && !known && kept.size() < max_entries) kept.push_back(entry);
    }
    return kept;
}

// The JobSet of a later attempt lacks them, and its counts do as well.
std::vector<api::JobStatus> of_finished_jobs(const api::TrainJob& job, const api::JobSet& job_set) {
    const auto& names = job_set.finished_jobs;
    std::vector<api::JobStatus> entries;
    std::copy_if(job.jobs_status.begin(), job.jobs_status.end(), std::back_inserter(entries),
                 [&](const api::JobStatus& entry) {
                     return std::find(names.begin(), names.end(), entry.name) != names.end();
                 });
    return entries;
}

}  // namespace

std::vector<api::JobStatus> jobs_status(const Observed& observed) {
    if (const api::JobSet* job_set = own_job_set(observed); job_set && !job_set->replicated_jobs.empty()) {
        std::vector<api::JobStatus> entries = of_finished_jobs(*observed.job, *job_set);
        entries.insert(entries.end(), job_set->replicated_jobs.begin(), job_set->replicated_jobs.end());
        return storable(entries);
    }
    // The list is never emptied: it shows that there was a JobSet. Without that, a new one would be built
    // from a newer runtime.
    std::vector<api::JobStatus> entries =
        observed.job ? observed.job->jobs_status : std::vector<api::JobStatus>();
    for (api::JobStatus& entry : entries) entry.ready = entry.active = entry.suspended = 0;
    return entries;
}

bool reports_no_active_pods(const Observed& observed) {
    const api::TrainJob& job = *observed.job;
    if (!job.suspend || api::terminal_condition(job)) return false;
    const bool reported =
        api::is_true(job.conditions, api::condition::suspended) && !api::any_active(job.jobs_status);
    return !reported && !api::any_active(jobs_status(observed));
}

}  // namespace lifecycle
