#pragma once
#include <chrono>
#include <optional>
#include <vector>

#include "lifecycle/conditions.hpp"
#include "lifecycle/decision.hpp"
#include "lifecycle/event.hpp"
#include "lifecycle/outcome.hpp"

namespace lifecycle {

struct Options {
    CreatedCondition created_condition = CreatedCondition::always;
};

/// What a reconcile ends with.
struct Conclusion {
    std::vector<api::Condition> conditions = {};
    std::vector<api::JobStatus> jobs_status = {};
    std::optional<api::RunPolicy> run_policy = {};
    std::optional<api::Time> start_time = {};
    std::optional<api::Time> completion_time = {};
    api::Restarts restarts = {};
    bool status_changed = false;  ///< write status_patch(), with the job's uid and resourceVersion
    /// A StoreTransition, or ReadyToCreate: once the status is written, go on with the server's answer.
    bool decide_again = false;
    /// At least 1 s. Empty: the next reconcile follows from a change.
    std::optional<std::chrono::seconds> requeue_after = {};
    bool requeues_for_progress = false;  ///< for a progress deadline, before anything else
    std::vector<Event> events = {};
    RetryState retry_state = {};  ///< to be handed in with the next reconcile
    /// No reconcile is needed for the writes of this one: it would find nothing to do.
    bool settled = false;
};

/// The status, the next look and the events, by how acting went: docs/design/lifecycle.md#conditions.
Conclusion conclude(const Observed& observed, const Decision& decision, const Outcome& outcome, api::Time now,
                    const Options& options = {});

/// What remains of a conclusion when its status could not be written: events that tell of the status go, and
/// the reconcile counts as failed.
Conclusion after_failed_status_write(Conclusion conclusion, const Observed& observed, const api::Error& error,
                                     api::Time now);

/// JSON merge patch of the TrainJob's status: `conditions`, `jobsStatus`, `runPolicy`, `startTime`,
/// `completionTime` and the numbers of restarts, each only if it differs.
api::Json status_patch(const api::TrainJob& job, const Conclusion& conclusion);

}  // namespace lifecycle
