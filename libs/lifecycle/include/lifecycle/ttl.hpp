#pragma once
#include <chrono>
#include <cstdint>
#include <optional>

#include "api/json.hpp"
#include "api/time.hpp"
#include "api/train_job.hpp"
#include "lifecycle/observed.hpp"

namespace lifecycle {

/// Whether the TTL can play a role: the job is ours, has ended or is about to, is not being deleted, and is
/// no copy on a worker cluster of MultiKueue.
bool ttl_matters(const Observed& observed);

/// The `ttlSecondsAfterFinished` that counts: the live runtime's, also if it has none; the snapshot's only
/// when the live runtime is gone. nullptr = does not exist.
std::optional<std::int64_t> ttl_policy(const api::Json* live_runtime, const api::Json* snapshot);

/// What is left until the TrainJob is to be deleted, never negative. Empty: never.
std::optional<std::chrono::seconds> time_to_live(const api::TrainJob& job, std::optional<std::int64_t> ttl,
                                                 api::Time now);

}  // namespace lifecycle
