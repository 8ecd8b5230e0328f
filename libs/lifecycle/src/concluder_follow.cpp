#include "concluder.hpp"
#include "lifecycle/deadline.hpp"
#include "lifecycle/jobs_status.hpp"
#include "lifecycle/restarts.hpp"
#include "lifecycle/run_policy.hpp"

namespace lifecycle {
namespace {

const api::Condition* end_of(const std::vector<api::Condition>& conditions) {
    for (const std::string_view type : {api::condition::complete, api::condition::failed})
        if (const auto* found = api::find_condition(conditions, type); found && found->is_true())
            return found;
    return nullptr;
}

}  // namespace

// Stores the run policy that the job began with. A job that has ended keeps the stored one.
void Concluder::follow_policy(const Decision& decision) {
    const bool is_fixed = job_.run_policy && had_job_set(job_);
    if (is_fixed || api::terminal_condition(job_)) return;
    if (outcome_.run_policy)
        conclusion_.run_policy = outcome_.run_policy;
    else if (observed_.snapshot_policy && !awaits_snapshot())
        conclusion_.run_policy = observed_.snapshot_policy;
    else if (std::holds_alternative<Finish>(decision) && !has_begun(observed_) && observed_.live_policy)
        conclusion_.run_policy = observed_.live_policy;
    else if (wants_snapshot_policy(observed_) && !observed_.snapshot_policy && shows_job_set())
        // A policy that was stored before the JobSet may be of another snapshot, and would stay from now on.
        conclusion_.run_policy.reset();
}

// Stores which runtime the job began with, once there is a JobSet of it, and for good. The JobSet itself
// tells that after a crash; one of another controller leaves it to the snapshot.
void Concluder::follow_runtime() {
    if (!job_.runtime_digest.empty() || api::terminal_condition(job_)) return;
    const api::JobSet* job_set = knows_job_set_ ? own_job_set(observed_) : nullptr;
    if (!job_set && !outcome_.job_set_written) return;
    const std::string noted = job_set ? job_set->runtime_digest : std::string();
    for (const std::string& digest : {outcome_.runtime_digest, observed_.snapshot_digest, noted})
        if (conclusion_.runtime_digest.empty()) conclusion_.runtime_digest = digest;
}

// Returns whether the status will show that there is a JobSet.
bool Concluder::shows_job_set() const {
    return api::is_true(conclusion_.conditions, api::condition::created) || !conclusion_.jobs_status.empty();
}

// Computes the times from conditions and metadata, so they are right whatever was written into the status.
// Jobs that ended under Kubeflow Trainer have none.
void Concluder::follow_times() {
    const bool had_ended = api::terminal_condition(job_) != nullptr;
    const api::Condition* ended = end_of(conclusion_.conditions);
    if (!had_ended || job_.start_time) conclusion_.start_time = start_before(ended, had_ended);
    if (!had_ended || job_.completion_time)
        conclusion_.completion_time = ended ? std::optional(ended->last_transition) : std::nullopt;
}

// A job that ended before its suspension was stored has run, although `Suspended` is True by now.
std::optional<api::Time> Concluder::start_before(const api::Condition* ended, bool had_ended) const {
    const auto* suspended = api::find_condition(conclusion_.conditions, api::condition::suspended);
    const bool suspended_since =
        ended && suspended && suspended->is_true() && suspended->last_transition >= ended->last_transition;
    if (!suspended_since) return last_start(conclusion_.conditions, job_.meta.creation);
    return had_ended ? job_.start_time : last_start(job_.conditions, job_.meta.creation);
}

// A JobSet of another controller may have no snapshot until it is adopted.
bool Concluder::awaits_snapshot() const {
    const api::JobSet* job_set = own_job_set(observed_);
    return job_set && !job_set->applied_here;
}

void Concluder::follow_suspend() {
    const bool stored = api::is_true(conclusion_.conditions, api::condition::suspended);
    if (job_.suspend) set(api::condition::suspended, "True", api::reason::suspended, "TrainJob is suspended");
    const bool unseen = observed_.first_resume && may_have_been_resumed(observed_);
    if (!job_.suspend && (stored || unseen))
        set(api::condition::suspended, "False", api::reason::resumed, "TrainJob is resumed",
            unseen ? *observed_.first_resume : api::Time());
}

void Concluder::follow_counts() {
    if (!knows_job_set_) return;
    conclusion_.jobs_status = jobs_status(observed_);
    conclusion_.restarts = restarts(observed_);
}

void Concluder::follow_job_set() {
    follow_counts();
    follow_generation();
    conclusion_.conditions = in_order(std::move(conclusion_.conditions));
}

// Clients wait for conditions with the generation of the spec, but not for those of Kubeflow Trainer,
// which have none.
void Concluder::follow_generation() {
    if (job_.meta.deletion) return;  // that was its last generation
    for (api::Condition& condition : conclusion_.conditions)
        if (is_built_in(condition.type) && condition.observed_generation != 0)
            condition.observed_generation = job_.meta.generation;
}

}  // namespace lifecycle
