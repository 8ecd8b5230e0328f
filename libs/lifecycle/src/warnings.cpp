#include "lifecycle/warnings.hpp"

#include <algorithm>

#include "api/condition.hpp"
#include "api/job_set_names.hpp"

namespace lifecycle {
namespace {

// The longest pause of the Job controller between two attempts to create a Pod.
constexpr std::chrono::minutes pause_of_jobs{6};
// Events have whole seconds, of another clock.
constexpr std::chrono::seconds clock_tolerance{2};

// Returns since when a Warning can say why the JobSet does not start, or go on, now.
api::Time relevant_since(const Observed& observed, const api::JobSet& job_set, api::Time now) {
    const api::Time start = start_of_run(observed);
    const auto& stall = observed.retry_state.stall;
    // A JobSet without Jobs has met nothing else since its start.
    if (job_set.replicated_jobs.empty()) return start;
    // A Warning of an earlier lack of Pods says nothing of this one.
    if (!job_set.lacks_pods.empty()) {
        const bool is_known = stall && stall->reason == api::reason::pods_not_created;
        return std::max(start, (is_known ? stall->since : now) - pause_of_jobs);
    }
    // If JobSet had created the Jobs later, the counts would have changed.
    const bool is_known = stall && stall->reason == api::reason::jobs_not_created;
    return is_known ? std::max(start, stall->since + clock_tolerance) : now;
}

// Restarts of a JobSet cause Warnings as well, of several reasons.
bool explains_job_set(const Warning& warning, const api::JobSet& job_set) {
    if (warning.kind != "JobSet" || warning.uid != job_set.meta.uid) return false;
    if (job_set.replicated_jobs.empty()) return !warning.reason.starts_with("Restart");
    // The counts of a JobSet that waits say that the Jobs have not been created since, and nothing of others.
    return job_set.lacks_pods.empty() ? warning.reason == "JobCreationFailed"
                                      : warning.reason.ends_with("CreationFailed");
}

// Returns whether it is about a Job, of any number, of the replicated job that lacks Pods.
bool explains_lack_of_pods(const Warning& warning, const api::JobSet& job_set) {
    if (job_set.replicated_jobs.empty() || job_set.lacks_pods.empty()) return false;
    if (warning.kind != "Job" || warning.reason != "FailedCreate") return false;
    return api::job_set_names::is_job(warning.name, job_set.meta.name, job_set.lacks_pods);
}

}  // namespace

std::string explanation(const Observed& observed, std::span<const Warning> warnings, api::Time now) {
    const api::JobSet* job_set = own_job_set(observed);
    if (!job_set) return "";
    const Warning* newest = nullptr;
    const api::Time since = relevant_since(observed, *job_set, now);
    for (const Warning& each : warnings)
        if (each.last >= (newest ? newest->last : since) &&
            (explains_job_set(each, *job_set) || explains_lack_of_pods(each, *job_set)))
            newest = &each;
    if (!newest) return "";
    return (newest->kind == "Job" ? "job " + job_set->lacks_pods + ": " : "") + newest->message;
}

}  // namespace lifecycle
