#pragma once
#include <chrono>
#include <cstdint>
#include <optional>

#include "api/time.hpp"
#include "api/train_job.hpp"
#include "lifecycle/observed.hpp"

namespace lifecycle {

/// Whether the TTL can play a role: the job has ended or is about to, is not being deleted, and is no copy on
/// a worker cluster of MultiKueue. It is ours, or its status is written by MultiKueue and its own TTL counts.
bool ttl_matters(const Observed& observed);

/// The `ttlSecondsAfterFinished` that counts: the job's own, else the longer one of what it began with and
/// what the live runtime says now, where none means endless. nullptr: that it began with is not known, and
/// there is no end then; the live runtime is gone, and what it began with counts.
std::optional<std::int64_t> ttl_policy(const api::TrainJob& job, const api::RunPolicy* began_with,
                                       const api::RunPolicy* live);

/// Whether that depends on what the job began with.
bool ttl_needs_beginning(const api::TrainJob& job, const api::RunPolicy* live);

/// What is left until the TrainJob is to be deleted, never negative. Empty: never.
std::optional<std::chrono::seconds> time_to_live(const api::TrainJob& job, std::optional<std::int64_t> ttl,
                                                 api::Time now);

}  // namespace lifecycle
