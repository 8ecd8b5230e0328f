#include "lifecycle/state.hpp"

#include <algorithm>

#include "lifecycle/observed.hpp"

namespace lifecycle {

State state_of(const api::TrainJob& job) {
    if (!is_ours(job)) return State::elsewhere;
    if (const api::Condition* ended = api::terminal_condition(job))
        return ended->type == api::condition::complete ? State::complete : State::failed;
    if (api::is_true(job.conditions, api::condition::suspended)) return State::suspended;
    const api::Condition* created = api::find_condition(job.conditions, api::condition::created);
    if (created && !created->is_true()) return State::blocked;
    if (api::is_true(job.conditions, api::condition::stalled)) return State::blocked;
    return had_job_set(job) ? State::running : State::pending;
}

std::optional<std::uint8_t> stall_reason_of(const api::TrainJob& job) {
    if (!is_ours(job) || api::terminal_condition(job)) return std::nullopt;
    const api::Condition* stalled = api::find_condition(job.conditions, api::condition::stalled);
    if (!stalled || !stalled->is_true()) return std::nullopt;
    const auto known = std::find(stall_reasons.begin(), stall_reasons.end() - 1, stalled->reason);
    return static_cast<std::uint8_t>(known - stall_reasons.begin());
}

}  // namespace lifecycle
