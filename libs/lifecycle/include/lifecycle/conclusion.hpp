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

/// The result of a reconcile: the new status, the events, and when to reconcile again.
struct Conclusion {
    std::vector<api::Condition> conditions = {};
    std::vector<api::JobStatus> jobs_status = {};
    std::optional<api::RunPolicy> run_policy = {};
    std::string runtime_digest = {};
    std::optional<api::Time> start_time = {};
    std::optional<api::Time> completion_time = {};
    api::Restarts restarts = {};
    std::vector<api::Failure> failures = {};
    api::Attempt attempt = {};
    bool status_changed = false;  ///< write status_patch(), with the job's uid and resourceVersion
    /// After StoreTransition and ReadyToCreate: write the status, then decide again on the answer of the API
    /// server.
    bool decide_again = false;
    /// At least 1 s. Empty: the next reconcile follows from a change.
    std::optional<std::chrono::seconds> requeue_after = {};
    bool requeues_for_progress = false;  ///< for a progress deadline, before anything else
    bool requeues_for_service = false;   ///< among others: for a look at the JobSet's Service
    std::vector<Event> events = {};
    RetryState retry_state = {};  ///< to be handed in with the next reconcile
    /// A reconcile after the writes of this one would find nothing to do.
    bool own_writes_need_no_reconcile = false;
};

/// Returns the status, the time of the next reconcile and the events, by the outcome of the decision:
/// docs/design/lifecycle.md#conditions.
Conclusion conclude(const Observed& observed, const Decision& decision, const Outcome& outcome, api::Time now,
                    const Options& options = {});

/// Returns a conclusion whose status could not be written: without the events about the status, and as a
/// failed reconcile.
Conclusion after_failed_status_write(Conclusion conclusion, const Observed& observed, const api::Error& error,
                                     api::Time now);

/// Returns the JSON merge patch of the TrainJob's status: `conditions`, `jobsStatus`, `runPolicy`,
/// `runtimeDigest`, `startTime`, `completionTime`, `failures`, and the numbers and times of restarts, each
/// only if it differs.
api::Json status_patch(const api::TrainJob& job, const Conclusion& conclusion);

}  // namespace lifecycle
