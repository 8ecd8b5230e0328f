#pragma once
#include <chrono>
#include <optional>

#include "api/time.hpp"
#include "api/train_job.hpp"

namespace lifecycle {

/// When the job has run for `activeDeadlineSeconds` since its creation or last resume. Empty: it has none,
/// none while it is suspended, or one beyond the end of time.
std::optional<api::Time> deadline(const api::TrainJob& job);

/// What is left until then, never negative: zero means that it has passed.
std::optional<std::chrono::seconds> time_left(const api::TrainJob& job, api::Time now);

}  // namespace lifecycle
