#include "lifecycle/ttl.hpp"

#include "lifecycle/observed.hpp"
#include "saturate.hpp"

namespace lifecycle {

namespace {

// MultiKueue would dispatch a job again whose copy goes before its manager has seen the end; it deletes the
// copy itself.
bool may_expire(const api::TrainJob& job) {
    return is_ours(job) && !job.meta.deletion && !job.is_multikueue_copy;
}

}  // namespace

bool ttl_matters(const Observed& observed) {
    if (!observed.job || !may_expire(*observed.job)) return false;
    const api::JobSet* job_set = own_job_set(observed);
    return api::terminal_condition(*observed.job) || (job_set && job_set->finished);
}

// docs/design/lifecycle.md#the-time-to-live.
std::optional<std::int64_t> ttl_policy(const api::Json* live_runtime, const api::Json* snapshot) {
    const api::Json* runtime = live_runtime ? live_runtime : snapshot;
    if (!runtime) return std::nullopt;
    const auto ttl = (*runtime)["spec"]["ttlSecondsAfterFinished"].as_int();
    return ttl && *ttl >= 0 ? ttl : std::nullopt;
}

std::optional<std::chrono::seconds> time_to_live(const api::TrainJob& job, std::optional<std::int64_t> ttl,
                                                 api::Time now) {
    const api::Condition* ended = api::terminal_condition(job);
    if (!ended || !may_expire(job) || !ttl || *ttl < 0) return std::nullopt;
    const api::Time end = saturating_add(ended->last_transition, *ttl);
    return end == api::Time::max() ? std::nullopt : std::optional(time_until(end, now));
}

}  // namespace lifecycle
