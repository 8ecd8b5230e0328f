#include "lifecycle/deadline.hpp"

#include <algorithm>

#include "lifecycle/observed.hpp"
#include "saturate.hpp"

namespace lifecycle {

// docs/design/lifecycle.md#the-deadline.
std::optional<api::Time> deadline(const api::TrainJob& job) {
    // The schema refuses a limit below 1; ending a job for a value that means nothing could not be undone.
    if (!job.active_deadline_seconds || *job.active_deadline_seconds < 1) return std::nullopt;
    const api::Condition* suspended = api::find_condition(job.conditions, api::condition::suspended);
    // The stored condition counts as well: the pass that resumes a job must not see the time it was
    // suspended.
    if (job.suspend || (suspended && suspended->is_true())) return std::nullopt;
    const bool was_resumed = suspended && suspended->status == "False";
    const api::Time start = was_resumed ? suspended->last_transition : job.meta.creation;
    const api::Time end = saturating_add(start, *job.active_deadline_seconds);
    return end == api::Time::max() ? std::nullopt : std::optional(end);
}

std::optional<std::chrono::seconds> time_left(const api::TrainJob& job, api::Time now) {
    const auto end = deadline(job);
    return end ? std::optional(time_until(*end, now)) : std::nullopt;
}

bool may_have_been_resumed(const api::TrainJob& job) {
    // A generation is a change of the spec, or the deletion.
    const std::int64_t unchanged = job.meta.deletion ? 2 : 1;
    return job.active_deadline_seconds && !job.suspend && job.meta.generation > unchanged && is_ours(job) &&
           !had_job_set(job) && !api::terminal_condition(job) &&
           !api::find_condition(job.conditions, api::condition::suspended);
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
