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

/// Whether a TrainJob with a deadline may have been created suspended, and resumed before any pass saw it:
/// then the deadline counts from the resume, which no condition tells of yet.
bool may_have_been_resumed(const api::TrainJob& job);

/// When it was, by the managedFields of the whole object: when `spec.suspend` was written, and
/// `now` where they do not tell. Empty if it never was suspended.
std::optional<api::Time> first_resume(const api::Json& train_job, api::Time now);

}  // namespace lifecycle
