#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "api/time.hpp"
#include "api/train_job.hpp"
#include "lifecycle/observed.hpp"

namespace lifecycle {

/// How long a TrainJob may run, and which object sets that.
struct ActiveDeadline {
    enum class Source { train_job, runtime_default, runtime_maximum };
    std::int64_t seconds = 0;
    Source source = Source::train_job;

    bool operator==(const ActiveDeadline&) const = default;
};

/// Returns the TrainJob's own deadline, else the default of its runtime; but the maximum of its runtime if
/// that is less. Empty: none is set.
std::optional<ActiveDeadline> active_deadline(const Observed& observed);

/// Returns "spec.activeDeadlineSeconds", "default of TrainingRuntime a" or "maximum of ClusterTrainingRuntime
/// b".
std::string source_of(const ActiveDeadline& deadline, const api::TrainJob& job);

/// Returns since when a job with these conditions runs: since its creation or its last resume. Empty while
/// `Suspended` is True.
std::optional<api::Time> last_start(const std::vector<api::Condition>& conditions, api::Time creation);

/// Returns since when the time of the deadlines counts: since last_start(). Empty for a suspended TrainJob,
/// unless Kueue runs its JobSet, see is_left_to_queue(): then since the suspension, so that a suspension lets
/// no job run without end. If the JobSet is in a queue of its own: since its last resume if that is later,
/// and empty until JobSet's controller has resumed it, or while there is none.
std::optional<api::Time> clock_start(const Observed& observed);

/// Returns when the job will have run for its active deadline since clock_start(). Empty: it has no deadline,
/// the clock does not run, or the deadline is beyond the end of time.
std::optional<api::Time> deadline(const Observed& observed);

/// Returns the time left until deadline(), never negative: zero means that the deadline has passed. Empty as
/// deadline().
std::optional<std::chrono::seconds> time_left(const Observed& observed, api::Time now);

/// Returns whether a TrainJob with a deadline may have been created suspended, and resumed before any
/// reconcile saw it: then the deadline counts from the resume, which no condition shows yet.
bool may_have_been_resumed(const Observed& observed);

/// Returns the time of that resume by the managedFields of the whole object: when `spec.suspend` was written,
/// or `now` where they do not show it. Empty if the TrainJob never was suspended.
std::optional<api::Time> first_resume(const api::Json& train_job, api::Time now);

}  // namespace lifecycle
