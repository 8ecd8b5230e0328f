#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "api/job_set.hpp"
#include "api/time.hpp"
#include "api/train_job.hpp"

namespace lifecycle {

/// What keeps a TrainJob from going on beside its JobSet (stall.hpp).
struct Stall {
    std::string_view reason = {};          ///< of the condition
    api::Time since = {};                  ///< unbroken
    std::optional<api::Time> looked = {};  ///< when the text of the condition was last looked for
    std::optional<api::Time> warned = {};  ///< when a Warning event was last sent of it

    bool operator==(const Stall&) const = default;
};

/// Consecutive failed reconciles of one TrainJob, each after the backoff of the one before; one that an event
/// causes earlier does not count. The controller keeps it with the key of the job and passes it to the next
/// reconcile. Losing it costs a quicker retry, a repeated event and a later condition.
struct RetryState {
    int failures = 0;
    std::optional<api::Time> errors_since = {};  ///< of errors that are no verdict on an object
    /// Of those among them that a condition reports: no conflicts, stale credentials, ending namespaces.
    std::optional<api::Time> obstructed_since = {};
    std::optional<api::Time> warned = {};       ///< when a Warning event was last sent of them
    std::optional<api::Time> stated = {};       ///< when a condition has last taken their text
    std::optional<api::Time> waits_until = {};  ///< of the backoff after the last failure
    /// When a Warning event has last said that the deletion of the TrainJob is blocked.
    std::optional<api::Time> deletion_reported = {};
    /// When the current reconcile began, if that is known: a slow failure has lasted since then.
    std::optional<api::Time> began = {};
    std::optional<Stall> stall = {};
    bool is_at_risk = false;        ///< an event has said that it will not finish before its deadline
    bool invalid_reported = false;  ///< an event has said that its progress deadline has errors
    bool kept_reported = false;     ///< an event has said why its JobSet stays as it was built

    bool operator==(const RetryState&) const = default;
};

/// What follows from reports of progress.
enum class ProgressWatch {
    off,
    reports,   ///< a warning of TrainJobs that will not finish before their active deadline
    deadlines  ///< and their progress deadlines
};

/// The Lease of the server of reports. Without a Lease both are empty.
struct Availability {
    std::optional<api::Time> since = {};    ///< reports have been accepted without interruption
    std::optional<api::Time> renewed = {};  ///< when this was last known

    bool operator==(const Availability&) const = default;
};

/// All that the decisions about one TrainJob depend on.
struct Observed {
    std::optional<api::TrainJob> job = {};    ///< empty: there is none (any more)
    std::optional<api::JobSet> job_set = {};  ///< the one of that namespace and name, of any owner
    std::optional<std::int64_t> ttl = {};     ///< ttl_policy(); needed only if ttl_matters()
    /// What the live runtime says; empty: there is none, or it is not known.
    std::optional<api::RunPolicy> live_policy = {};
    /// What the snapshot says, where wants_snapshot_policy(); nothing if there is none of use. Empty: it is
    /// not known.
    std::optional<api::RunPolicy> snapshot_policy = {};
    /// Of has_foreign_job_set(), where it was read live: it is of an earlier TrainJob of this name.
    bool is_leftover = false;
    RetryState retry_state = {};
    /// `job` has ended, or is managed by others, and lacks a part of its status: before anything is written,
    /// it has to be read live.
    bool is_abridged = false;
    /// first_resume() of the TrainJob, where may_have_been_resumed() and it was read live.
    std::optional<api::Time> first_resume = {};
    ProgressWatch progress_watch = ProgressWatch::off;
    /// Of this reconcile, where wants_availability(). Empty: not read.
    std::optional<Availability> availability = {};
    bool is_live = false;  ///< TrainJob and JobSet were read from the API server in this reconcile
};

/// Whether `managedBy` leaves the TrainJob to us; to any other we write nothing, whatever happens.
bool is_managed_here(const api::TrainJob& job);

/// The JobSet if it belongs to the TrainJob, else nullptr: one of another owner, or one that lost its owner
/// reference, is not there as far as the job's state is concerned.
const api::JobSet* own_job_set(const Observed& observed);

/// Something of that name belongs to another owner.
bool has_foreign_job_set(const Observed& observed);

/// Returns whether the status shows a JobSet of an earlier reconcile: `Created` is True or `jobsStatus` is
/// not empty.
bool had_job_set(const api::TrainJob& job);

/// Returns since when the JobSet may run: since it was made, or since the TrainJob was resumed.
api::Time start_of_run(const Observed& observed);

/// Whether the JobSet was built for another `spec.trainer.numNodes` than the TrainJob has. False if that is
/// not noted.
bool has_former_size(const Observed& observed);

/// The JobSet runs, by the status it does not exist yet, and it was attempted or the spec has changed: a
/// request that was long on its way may have created it from what has been corrected or resized since. Until
/// that is known, the status must not take its counts.
bool may_be_outdated(const Observed& observed);

}  // namespace lifecycle
