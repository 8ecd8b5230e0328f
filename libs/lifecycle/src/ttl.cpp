#include "lifecycle/ttl.hpp"

#include <algorithm>

#include "api/names.hpp"
#include "duration.hpp"
#include "lifecycle/observed.hpp"

namespace lifecycle {

namespace {

// MultiKueue deletes the copy of a job itself. If the copy disappeared before the manager cluster has seen
// the end, MultiKueue would dispatch the job again.
bool may_expire(const api::TrainJob& job) {
    if (job.meta.deletion || job.is_multikueue_copy) return false;
    const bool is_dispatched = job.managed_by == api::managed_by_multikueue;
    return api::is_managed_here(job) || (is_dispatched && job.ttl_seconds_after_finished);
}

}  // namespace

bool ttl_matters(const Observed& observed) {
    if (!observed.job || !may_expire(*observed.job)) return false;
    const api::JobSet* job_set = own_job_set(observed);
    const bool is_about_to_end = api::is_managed_here(*observed.job) && job_set && job_set->finished;
    return api::terminal_condition(*observed.job) || is_about_to_end;
}

// docs/design/lifecycle.md#the-time-to-live has the reasons.
std::optional<std::int64_t> ttl_policy(const api::TrainJob& job, const api::RunPolicy* began_with,
                                       const api::RunPolicy* live, api::TtlAppliesTo live_applies_to) {
    const auto own = job.ttl_seconds_after_finished;
    // On the manager of MultiKueue, the runtime does not count, and the status is the worker's.
    if (!api::is_managed_here(job)) return own;
    if (live && live_applies_to == api::TtlAppliesTo::all_jobs)
        return api::cut_ttl(own ? own : live->ttl_seconds_after_finished, *live);
    if (!began_with) return own;
    if (own) return api::cut_ttl(own, *began_with);
    auto ttl = began_with->ttl_seconds_after_finished;
    if (ttl && live) {
        const auto now = live->ttl_seconds_after_finished;
        ttl = now ? std::max(ttl, now) : std::nullopt;
    }
    return api::cut_ttl(ttl, *began_with);
}

bool ttl_needs_beginning(const api::TrainJob& job, const api::RunPolicy* live,
                         api::TtlAppliesTo live_applies_to) {
    if (!api::is_managed_here(job)) return false;
    if (live && live_applies_to == api::TtlAppliesTo::all_jobs) return false;
    if (live && live->max_ttl_seconds_after_finished) return true;
    return !job.ttl_seconds_after_finished && (!live || live->ttl_seconds_after_finished);
}

std::optional<std::chrono::seconds> time_to_live(const api::TrainJob& job, std::optional<std::int64_t> ttl,
                                                 api::Time now) {
    const api::Condition* ended = api::terminal_condition(job);
    if (!ended || !may_expire(job) || !ttl || *ttl < 0) return std::nullopt;
    const api::Time end = saturating_add(ended->last_transition, *ttl);
    return end == api::Time::max() ? std::nullopt : std::optional(time_until(end, now));
}

}  // namespace lifecycle
