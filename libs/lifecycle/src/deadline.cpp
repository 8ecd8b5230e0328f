#include "lifecycle/deadline.hpp"

#include <algorithm>

#include "duration.hpp"
#include "lifecycle/run_policy.hpp"

namespace lifecycle {

// The schema refuses a limit below 1. Such a value ends no job, since that could not be undone.
std::optional<ActiveDeadline> active_deadline(const Observed& observed) {
    using Source = ActiveDeadline::Source;
    const auto own = observed.job->active_deadline_seconds;
    const api::RunPolicy* policy = policy_of(observed);
    std::optional<ActiveDeadline> found;
    if (own && *own >= 1)
        found = {*own, Source::train_job};
    else if (policy && policy->active_deadline_seconds)
        found = {*policy->active_deadline_seconds, Source::runtime_default};
    const auto most = policy ? policy->max_active_deadline_seconds : std::nullopt;
    if (most && (!found || *most < found->seconds)) found = {*most, Source::runtime_maximum};
    return found;
}

std::string source_of(const ActiveDeadline& deadline, const api::TrainJob& job) {
    const std::string runtime = job.runtime_ref.kind + " " + job.runtime_ref.name;
    switch (deadline.source) {
        case ActiveDeadline::Source::train_job: return "spec.activeDeadlineSeconds";
        case ActiveDeadline::Source::runtime_default: return "default of " + runtime;
        case ActiveDeadline::Source::runtime_maximum: return "maximum of " + runtime;
    }
    return {};
}

std::optional<api::Time> last_start(const std::vector<api::Condition>& conditions, api::Time creation) {
    const api::Condition* suspended = api::find_condition(conditions, api::condition::suspended);
    if (suspended && suspended->is_true()) return std::nullopt;
    const bool was_resumed = suspended && suspended->status == "False";
    return was_resumed ? suspended->last_transition : creation;
}

namespace {

// Returns since when the TrainJob may run. Kueue may run the JobSet of a suspended one.
std::optional<api::Time> start_of_job(const Observed& observed) {
    const api::TrainJob& job = *observed.job;
    if (!job.suspend) return last_start(job.conditions, job.meta.creation);
    if (!is_left_to_queue(observed)) return std::nullopt;
    const api::Condition* suspended = api::find_condition(job.conditions, api::condition::suspended);
    return suspended && suspended->is_true() ? suspended->last_transition : job.meta.creation;
}

}  // namespace

std::optional<api::Time> clock_start(const Observed& observed) {
    const auto start = start_of_job(observed);
    const api::JobSet* job_set = own_job_set(observed);
    const std::string& queue = job_set ? job_set->queue : observed.queue_of_runtime;
    if (!start || !is_in_own_queue(*observed.job, queue)) return start;
    if (!job_set) return std::nullopt;
    const auto& suspended = job_set->suspended;
    if (job_set->suspend || (suspended && suspended->is_true())) return std::nullopt;
    return suspended ? std::max(*start, suspended->last_transition) : *start;
}

// docs/design/lifecycle.md#the-deadline. A stored `Suspended` counts as well, so that the reconcile that
// resumes a job does not count the time of the suspension.
std::optional<api::Time> deadline(const Observed& observed) {
    const auto limit = active_deadline(observed);
    if (!limit) return std::nullopt;
    const auto start = clock_start(observed);
    if (!start) return std::nullopt;
    const api::Time end = saturating_add(*start, limit->seconds);
    return end == api::Time::max() ? std::nullopt : std::optional(end);
}

std::optional<std::chrono::seconds> time_left(const Observed& observed, api::Time now) {
    const auto end = deadline(observed);
    return end ? std::optional(time_until(*end, now)) : std::nullopt;
}

bool may_have_been_resumed(const Observed& observed) {
    const api::TrainJob& job = *observed.job;
    // The generation is 1 at first, and grows with a change of the spec and with the deletion.
    const std::int64_t unchanged = job.meta.deletion ? 2 : 1;
    return !job.suspend && job.meta.generation > unchanged && api::is_managed_here(job) &&
           !had_job_set(job) && !api::terminal_condition(job) &&
           !api::find_condition(job.conditions, api::condition::suspended) && active_deadline(observed);
}

std::optional<api::Time> first_resume(const api::Json& train_job, api::Time now) {
    std::optional<api::Time> written;
    for (const api::Json& entry : train_job["metadata"]["managedFields"].items())
        if (entry["fieldsV1"]["f:spec"].contains("f:suspend"))
            if (const auto at = api::parse_time(entry["time"].as_string()))
                written = std::max(written.value_or(*at), *at);
    if (!written) return now;
    if (*written <= api::parse_meta(train_job).creation) return std::nullopt;
    return std::min(*written, now);
}

}  // namespace lifecycle
