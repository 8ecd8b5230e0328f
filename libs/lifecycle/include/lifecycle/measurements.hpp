#pragma once
#include <chrono>
#include <optional>

#include "lifecycle/conclusion.hpp"

namespace lifecycle {

/// How a TrainJob ended.
enum class End { complete, failed, deadline, unsupported_runtime, progress_deadline };

/// Why a reconcile asks for another one at a certain time.
enum class RequeueReason { failure, deadline, ttl, clean_up, stall, progress };

/// How an attempt of a TrainJob under a failure policy ended.
enum class AttemptEnd { complete, failed, restarted };

/// Why a TrainJob has restarted.
enum class RestartCause {
    failure,
    infrastructure,  ///< a disruption, or the node: nothing of its own
    hang,            ///< no progress, or no report
    no_node,         ///< while it avoided some
    job_set          ///< JobSet's own restarts, whose causes are not known
};

/// Which object sets the TTL of a TrainJob.
enum class TtlFrom { train_job, runtime };

/// Why a TrainJob is not deleted although its TTL has passed by the caches.
enum class TtlHeld { multikueue, live };

/// What one reconcile adds to the metrics. Times are whole seconds, as in the API, so each may be off by one;
/// none is negative, even if the clock is behind that of the API server.
struct Measurements {
    std::optional<std::chrono::seconds> to_job_set = {};     ///< from the creation to the first JobSet
    std::optional<std::chrono::seconds> to_terminal = {};    ///< from the JobSet's end to the job's status
    std::optional<std::chrono::seconds> deadline_late = {};  ///< how long after its deadline it was ended
    std::optional<std::chrono::seconds> ttl_late = {};       ///< how long after its TTL it was deleted
    std::optional<std::chrono::seconds> run = {};   ///< of a job that has ended, since its last start
    std::optional<std::chrono::seconds> wait = {};  ///< from the creation to a start
    api::Restarts restarted = {};                   ///< that the status shows for the first time
    RestartCause restart_cause = RestartCause::job_set;
    std::optional<AttemptEnd> attempt_end = {};
    std::optional<std::chrono::seconds> attempt = {};  ///< since all Pods of the attempt had started
    bool excludes_node = false;                        ///< later attempts avoid a node
    std::optional<TtlFrom> expired = {};
    std::optional<TtlHeld> held = {};
    bool expires = false;  ///< it has ended, and waits for its TTL
    std::optional<End> end = {};
    bool clean_up_failed = false;  ///< a DELETE of what is left of an ended job failed
    std::optional<RequeueReason> requeue = {};
    std::optional<bool> lease_is_ahead = {};  ///< is_ahead() of the Lease that was read
};

/// Returns the measurements of a reconcile. `status_stored`: whether the status of the conclusion is in the
/// cluster now. `now` is after the writes.
Measurements measurements(const Observed& observed, const Decision& decision, const Outcome& outcome,
                          const Conclusion& conclusion, bool status_stored, api::Time now);

/// Returns the measurements of a reconcile that writes the status more than once: those of the `latest`
/// write, but the wait for a start also if an `earlier` write stored the start, and the restarts of both.
Measurements joined(const Measurements& earlier, Measurements latest);

}  // namespace lifecycle
