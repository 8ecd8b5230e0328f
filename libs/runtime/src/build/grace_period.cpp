#include "build/grace_period.hpp"

#include "runtime/active_plugins.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {

using api::Json;

std::optional<std::int64_t> grace_period_of(const Json& runtime) {
    const auto seconds = runtime["spec"]["runPolicy"]["gracePeriodSeconds"].as_int();
    return seconds && *seconds >= 0 ? seconds : std::nullopt;
}

std::optional<std::int64_t> grace_period(const Json& runtime, const Info& info, const PodSet& pods) {
    const Json& job = info.spec["replicatedJobs"][pods.index];
    if (const Json& own = pod_spec_of(job)[grace_period_member]; !own.is_null()) return own.as_int();
    return info.plugins.runs_program(job) ? grace_period_of(runtime) : std::nullopt;
}

}  // namespace runtime
