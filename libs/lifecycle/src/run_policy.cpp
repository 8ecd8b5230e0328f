#include "lifecycle/run_policy.hpp"

#include "lifecycle/snapshot.hpp"

namespace lifecycle {
namespace {

const api::RunPolicy* pointer_to(const std::optional<api::RunPolicy>& policy) {
    return policy ? &*policy : nullptr;
}

bool goes_on_here(const Observed& observed) {
    return observed.job && api::is_managed_here(*observed.job) && !api::terminal_condition(*observed.job);
}

}  // namespace

bool has_begun(const Observed& observed) { return own_job_set(observed) || had_job_set(*observed.job); }

// A policy that was stored before there was a JobSet may be of another snapshot: the snapshot is replaced as
// long as the runtime changes.
bool wants_snapshot_policy(const Observed& observed) {
    if (!goes_on_here(observed)) return false;
    const bool is_fixed = observed.job->run_policy && had_job_set(*observed.job);
    return has_begun(observed) && !is_fixed;
}

bool wants_snapshot(const Observed& observed) {
    if (wants_snapshot_policy(observed)) return true;
    if (!goes_on_here(observed)) return false;
    return own_job_set(observed) && began_with(observed).digest.empty();
}

const api::RunPolicy* policy_of(const Observed& observed) {
    if (wants_snapshot_policy(observed)) return pointer_to(observed.snapshot_policy);
    const bool ended = api::terminal_condition(*observed.job) != nullptr;
    if (!ended && !has_begun(observed) && observed.live_policy) return &*observed.live_policy;
    return pointer_to(observed.job->run_policy);
}

}  // namespace lifecycle
