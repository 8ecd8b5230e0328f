#include "lifecycle/state.hpp"

#include "lifecycle/observed.hpp"

namespace lifecycle {

State state_of(const api::TrainJob& job) {
    if (!api::is_managed_here(job)) return State::elsewhere;
    if (const api::Condition* ended = api::terminal_condition(job))
        return ended->type == api::condition::complete ? State::complete : State::failed;
    if (api::is_true(job.conditions, api::condition::suspended)) return State::suspended;
    const api::Condition* created = api::find_condition(job.conditions, api::condition::created);
    if (created && !created->is_true()) return State::blocked;
    if (api::is_true(job.conditions, api::condition::stalled)) return State::blocked;
    return had_job_set(job) ? State::running : State::pending;
}

}  // namespace lifecycle
