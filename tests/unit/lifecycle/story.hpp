#pragma once
#include "concluding.hpp"

namespace lifecycle {

/// One TrainJob through reconciles with the same outcome, each when the one before has asked for it. Every
/// status is stored at once.
struct Story {
    Observed observed = submitted();
    api::Time now = start;
    std::optional<api::Time> next = start;  ///< when a reconcile is due
    std::string reported = {};              ///< "15 ReconcileError", seconds after the start; ", " between
    int writes = 0;                         ///< of the status

    Conclusion reconcile(const Outcome& outcome, const Options& options = {}) {
        const Conclusion conclusion = conclude(observed, decide(observed, now), outcome, now, options);
        writes += conclusion.status_changed ? 1 : 0;
        observed.job->conditions = conclusion.conditions;
        observed.job->jobs_status = conclusion.jobs_status;
        observed.job->run_policy = conclusion.run_policy;
        observed.job->runtime_digest = conclusion.runtime_digest;
        observed.job->start_time = conclusion.start_time;
        observed.job->completion_time = conclusion.completion_time;
        observed.job->restarts = conclusion.restarts;
        observed.job->failures = conclusion.failures;
        observed.job->attempt = conclusion.attempt;
        observed.retry_state = conclusion.retry_state;
        for (const Event& event : conclusion.events)
            reported +=
                (reported.empty() ? "" : ", ") + std::to_string((now - start).count()) + " " + event.reason;
        next = conclusion.requeue_after ? std::optional(now + *conclusion.requeue_after) : std::nullopt;
        return conclusion;
    }
    void until(std::chrono::seconds elapsed, const Outcome& outcome) {
        while (next && *next <= start + elapsed) {
            now = *next;
            reconcile(outcome);
        }
        now = start + elapsed;
    }
    std::string says() const { return text(observed.job->conditions); }
    std::string message(std::string_view type) const {
        const api::Condition* found = api::find_condition(observed.job->conditions, type);
        return found ? found->message : "";
    }
};

}  // namespace lifecycle
