#pragma once
#include <chrono>
#include <optional>

#include "lifecycle/conclusion.hpp"

namespace lifecycle {

/// How a TrainJob ended.
enum class End { complete, failed, deadline, unsupported_runtime, progress_deadline };

/// Why a reconcile asks for another one at a certain time.
enum class RequeueReason { failure, deadline, ttl, clean_up, stall, progress };

/// What the TTL of a TrainJob is from.
enum class TtlFrom { train_job, runtime };

/// Why a TrainJob stays whose TTL has passed by the caches.
enum class TtlHeld { multikueue, live };

/// What metrics measure and count of one reconcile. Times are whole seconds, as in the
/// API, so that each may be off by one; a clock that is behind the API server's makes none negative.
struct Measurements {
    std::optional<std::chrono::seconds> to_job_set = {};     ///< from the creation to the first JobSet
    std::optional<std::chrono::seconds> to_terminal = {};    ///< from the JobSet's end to saying so
    std::optional<std::chrono::seconds> deadline_late = {};  ///< how long after its deadline it was ended
    std::optional<std::chrono::seconds> ttl_late = {};       ///< how long after its TTL it was deleted
    std::optional<std::chrono::seconds> run = {};            ///< of what has ended, since its last start
    std::optional<std::chrono::seconds> wait = {};           ///< from the creation to a start
    api::Restarts restarted = {};                            ///< that the status tells of from now on
    std::optional<TtlFrom> expired = {};
    std::optional<TtlHeld> held = {};
    bool expires = false;  ///< it has ended, and waits for its TTL
    std::optional<End> end = {};
    bool clean_up_failed = false;  ///< a DELETE of what is left of an ended job
    std::optional<RequeueReason> requeue = {};
    std::optional<bool> lease_is_ahead = {};  ///< is_ahead() of the Lease that was looked at
};

/// `status_stored`: whether the conclusion's status is in the cluster now. `now` is after the writes.
Measurements measurements(const Observed& observed, const Decision& decision, const Outcome& outcome,
                          const Conclusion& conclusion, bool status_stored, api::Time now);

/// Returns the measurements of a reconcile that writes the status more than once: those of the `latest`
/// write, but the wait for a start also if an `earlier` write stored the start, and the restarts of both.
Measurements joined(const Measurements& earlier, Measurements latest);

}  // namespace lifecycle
