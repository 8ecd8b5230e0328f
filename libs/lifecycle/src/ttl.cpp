#include "lifecycle/ttl.hpp"

#include "lifecycle/observed.hpp"
#include "saturate.hpp"

namespace lifecycle {

bool ttl_matters(const api::TrainJob& job) {
    return is_ours(job) && !job.meta.deletion && api::terminal_condition(job) != nullptr;
}

std::optional<std::int64_t> ttl_policy(const api::Json* live_runtime, const api::Json* snapshot) {
    const api::Json* runtime = live_runtime ? live_runtime : snapshot;
    if (!runtime) return std::nullopt;
    const auto ttl = (*runtime)["spec"]["ttlSecondsAfterFinished"].as_int();
    return ttl && *ttl >= 0 ? ttl : std::nullopt;
}

std::optional<std::chrono::seconds> time_to_live(const api::TrainJob& job, std::optional<std::int64_t> ttl,
                                                 api::Time now) {
    if (!ttl_matters(job) || !ttl || *ttl < 0) return std::nullopt;
    const api::Time end = saturating_add(api::terminal_condition(job)->last_transition, *ttl);
    return end == api::Time::max() ? std::nullopt : std::optional(time_until(end, now));
}

}  // namespace lifecycle
