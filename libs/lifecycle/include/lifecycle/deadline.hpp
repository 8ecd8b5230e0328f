#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "api/time.hpp"
#include "api/train_job.hpp"
#include "lifecycle/observed.hpp"

namespace lifecycle {

/// How long a TrainJob may run, and what says so.
struct ActiveDeadline {
    enum class Source { train_job, runtime_default, runtime_maximum };
    std::int64_t seconds = 0;
    Source source = Source::train_job;

    bool operator==(const ActiveDeadline&) const = default;
};

/// The job's own, else its runtime's default; its runtime's maximum where that is less. Empty: it has none.
std::optional<ActiveDeadline> active_deadline(const Observed& observed);

/// "spec.activeDeadlineSeconds", "default of TrainingRuntime a", "maximum of ClusterTrainingRuntime b".
std::string source_of(const ActiveDeadline& deadline, const api::TrainJob& job);

/// Since when a job with these conditions runs: since its creation or its last resume. Empty while
/// `Suspended` is True.
std::optional<api::Time> last_start(const std::vector<api::Condition>& conditions, api::Time creation);

/// When the job has run for its active deadline since its creation or last resume. Empty: it has none,
/// none while it is suspended, or one beyond the end of time.
std::optional<api::Time> deadline(const Observed& observed);

/// What is left until then, never negative: zero means that it has passed.
std::optional<std::chrono::seconds> time_left(const Observed& observed, api::Time now);

/// Whether a TrainJob with a deadline may have been created suspended, and resumed before any reconcile saw
/// it: then the deadline counts from the resume, which no condition tells of yet.
bool may_have_been_resumed(const Observed& observed);

/// When it was, by the managedFields of the whole object: when `spec.suspend` was written, and
/// `now` where they do not tell. Empty if it never was suspended.
std::optional<api::Time> first_resume(const api::Json& train_job, api::Time now);

}  // namespace lifecycle
