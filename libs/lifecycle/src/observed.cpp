#include "lifecycle/observed.hpp"

#include <algorithm>

namespace lifecycle {

const api::JobSet* own_job_set(const Observed& observed) {
    return observed.job && observed.job_set && observed.job_set->belongs_to(*observed.job)
               ? &*observed.job_set
               : nullptr;
}

bool has_foreign_job_set(const Observed& observed) { return observed.job_set && !own_job_set(observed); }

bool had_job_set(const api::TrainJob& job) {
    return !job.runtime_digest.empty() || api::is_true(job.conditions, api::condition::created) ||
           !job.jobs_status.empty();
}

api::Time start_of_run(const Observed& observed) {
    const api::Condition* resumed = api::find_condition(observed.job->conditions, api::condition::suspended);
    const api::JobSet* job_set = own_job_set(observed);
    const api::Time made = job_set ? job_set->meta.creation : observed.job->meta.creation;
    return resumed ? std::max(made, resumed->last_transition) : made;
}

std::optional<api::Time> all_started_since(const Observed& observed) {
    const auto began = observed.job->attempt.began;
    const bool is_of_this_run = began && own_job_set(observed) && *began >= start_of_run(observed);
    return is_of_this_run ? began : std::nullopt;
}

bool has_former_size(const Observed& observed) {
    const api::JobSet* job_set = own_job_set(observed);
    return job_set && job_set->built_for_nodes && *job_set->built_for_nodes != api::num_nodes(*observed.job);
}

bool is_in_own_queue(const api::TrainJob& job, std::string_view queue_of_job_set) {
    return job.queue.empty() && !queue_of_job_set.empty();
}

bool is_left_to_queue(const Observed& observed) {
    const api::JobSet* job_set = own_job_set(observed);
    if (!job_set || !is_in_own_queue(*observed.job, job_set->queue)) return false;
    if (job_set->written_suspend != observed.job->suspend) return false;
    return observed.job->suspend || !job_set->suspend || !has_former_size(observed);
}

bool may_be_outdated(const Observed& observed) {
    const api::JobSet* job_set = own_job_set(observed);
    if (!job_set || !job_set->applied_here || job_set->suspend || observed.job->suspend) return false;
    // `Created` may have become Unknown after a correction, if a later attempt ended without a verdict.
    if (!observed.job->jobs_status.empty()) return false;
    const api::Condition* created = api::find_condition(observed.job->conditions, api::condition::created);
    if (!created) return observed.job->meta.generation > 1;
    return !created->is_true();
}

}  // namespace lifecycle
