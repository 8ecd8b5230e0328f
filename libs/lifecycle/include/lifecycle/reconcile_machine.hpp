#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <variant>

#include "lifecycle/conclusion.hpp"
#include "lifecycle/decision.hpp"
#include "lifecycle/failed_pods.hpp"
#include "lifecycle/measurements.hpp"
#include "lifecycle/observed.hpp"
#include "lifecycle/outcome.hpp"

namespace lifecycle {

/// What a reconcile has come to.
struct Reconciled {
    bool gone = false;  ///< there is no such TrainJob
    std::optional<std::chrono::seconds> requeue_after = {};
    api::Time concluded = {};                   ///< the second in which `requeue_after` was computed
    RetryState retry_state = {};                ///< to be handed in with the next reconcile of this job
    bool own_writes_need_no_reconcile = false;  ///< when the caches have them
    std::optional<api::Error> error = {};
    Measurements measurements = {};
};

/// One reconcile of one TrainJob: says what to do next, by what has come of it until now. It does no I/O and
/// reads no clock.
///
///   while (auto action = machine.next(now, is_certain)) { carry it out; tell the machine what came of it }
///
/// Each action names the functions of which one is to be called. What is interrupted is found again by the
/// next reconcile. Each action after the first Act has more of the live view, or a stored transition, so the
/// machine ends.
class ReconcileMachine {
public:
    /// Read the Lease of the server of reports: found_lease(), lease_unread().
    struct LookAtLease {};
    /// Carry out the decision: acted().
    struct Act {
        Decision decision;
    };
    /// Look into the Warnings of the namespace: explained().
    struct LookAtWarnings {};
    /// Observe again, that much from the API server: looked(), look_failed().
    struct Look {
        Live what;
        LookFor reason;
    };
    /// Look at the Service with the name of the JobSet's: found_service().
    struct LookAtService {};
    /// Look at the failed Pods of the JobSet, at the failure policy that the job began with, or at both:
    /// found_failure(), failed_pods_unread(), failure_policy_unread().
    struct LookAtFailure {
        bool pods;
        bool policy;
    };
    /// Look since when a Pod of the attempt that avoids nodes has none: found_placement().
    struct LookAtPlacement {};
    /// Write the status: stored(), not_stored().
    struct WriteStatus {
        const Conclusion& conclusion;
    };
    /// Record the events, and log a write of the JobSet, about the TrainJob as it was before the write of the
    /// status.
    struct Report {
        const Conclusion& conclusion;
        const Run* job_set_written;  ///< nullptr: no apply changed it
    };
    using Action = std::variant<LookAtLease, Act, LookAtWarnings, Look, LookAtService, LookAtFailure,
                                LookAtPlacement, WriteStatus, Report>;

    /// `observed`: by the caches. The machine keeps it up to date, and it must outlive the machine.
    /// `policy_unread`: why the policy that the job began with is not known.
    ReconcileMachine(Observed& observed, std::optional<ReadFailed> policy_unread, Options options);

    /// Returns the next action; nullopt at the end. `now`: by the API server's clock; `is_certain`: well
    /// enough for what cannot be undone.
    std::optional<Action> next(api::Time now, bool is_certain = true);

    void found_lease(Availability availability);
    void lease_unread(ReadFailed why);
    /// `wants_live_view`: it met an action that cannot be undone, or an obstacle, and the view is not all
    /// live.
    void acted(Outcome outcome, bool wants_live_view);
    /// `explanation`: Outcome::explanation.
    void explained(std::optional<std::string> explanation);
    void looked(Observed observed, std::optional<ReadFailed> policy_unread);
    void look_failed(api::Error why);
    void found_service(ServiceLook found);
    /// `first`: of the Pods that failed; nullopt if none is left, or if they cannot be read. `policy`:
    /// nullopt if it was not asked for, or cannot be had any more. Then the job ends as decided.
    void found_failure(std::optional<FailedPod> first, const std::optional<api::FailurePolicy>& policy);
    /// Returns whether the reconcile ends here, to try again. Else tell found_failure() without any.
    bool failed_pods_unread(const api::Error& why, api::Time now);
    void failure_policy_unread(ReadFailed why);
    /// `waits_since`: Outcome::waits_for_node_since; nullopt also if it cannot be read.
    void found_placement(std::optional<api::Time> waits_since, api::Time now);
    /// `answer`: the TrainJob as it was stored, where the conclusion asks for another decision.
    void stored(std::optional<api::TrainJob> answer);
    void not_stored(api::Error why, api::Time now);

    /// To be read at the end.
    const Reconciled& result() const { return result_; }

private:
    enum class State { deciding, looking, acted, concluding, reporting, reported };

    std::optional<Action> decide_next(api::Time now, bool is_certain);
    std::optional<Action> look(Live what);
    bool wants_placement(api::Time now) const;
    std::optional<Action> conclude_next(api::Time now);
    std::optional<Action> report(api::Time now);
    bool decides_again();
    Judgement judge_attempt(Judged what, const FailedPod* first, const api::FailurePolicy& policy);
    void note(const Judgement& judgement);
    bool expires() const { return std::holds_alternative<Expire>(decision_); }

    Observed& observed_;
    std::optional<ReadFailed> policy_unread_;
    std::optional<ReadFailed> lease_unread_ = {};
    const Options options_;
    State state_ = State::deciding;
    Live live_ = Live::nothing;
    Live looks_for_ = Live::nothing;
    bool expires_by_caches_ = false;
    bool looked_at_warnings_ = false;
    bool looked_at_failure_ = false;
    bool looked_at_placement_ = false;
    bool is_stored_ = false;
    Decision decision_ = {};
    api::Time decided_ = {};
    Outcome outcome_ = {};
    Conclusion conclusion_ = {};
    std::optional<api::TrainJob> answer_ = {};
    Reconciled result_ = {};
};

}  // namespace lifecycle
