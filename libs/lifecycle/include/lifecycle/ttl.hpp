#pragma once
#include <chrono>
#include <cstdint>
#include <optional>

#include "api/time.hpp"
#include "api/train_job.hpp"
#include "lifecycle/observed.hpp"

namespace lifecycle {

/// Returns whether the TTL can play a role: the job has ended or is about to, is not being deleted, and is no
/// copy on a worker cluster of MultiKueue. This controller manages it, or MultiKueue writes its status and
/// its own TTL counts.
bool ttl_matters(const Observed& observed);

/// Returns the `ttlSecondsAfterFinished` that counts: the job's own, else the longer one of the policy that
/// the job began with and of the live runtime, where none means endless; and no more than the maximum of the
/// policy that it began with. `began_with` is nullptr if it is not known: without its own the job's is
/// endless. `live` is nullptr if the runtime is gone: `began_with` alone counts. If the live runtime's times
/// apply to all TrainJobs, it alone counts.
std::optional<std::int64_t> ttl_policy(const api::TrainJob& job, const api::RunPolicy* began_with,
                                       const api::RunPolicy* live, api::TtlAppliesTo live_applies_to);

/// Returns whether it is worth a read to know the policy that the job began with: ttl_policy() depends on it,
/// as far as the live runtime tells. Where that has no maximum, one of then may be missed: the job stays
/// longer.
bool ttl_needs_beginning(const api::TrainJob& job, const api::RunPolicy* live,
                         api::TtlAppliesTo live_applies_to);

/// Returns the time left until the TrainJob is to be deleted, never negative. Empty: never.
std::optional<std::chrono::seconds> time_to_live(const api::TrainJob& job, std::optional<std::int64_t> ttl,
                                                 api::Time now);

}  // namespace lifecycle
