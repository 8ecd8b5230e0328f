#pragma once
#include <string>
#include <string_view>

#include "lifecycle/conclusion.hpp"

/// What a reconcile reports besides its decision: conditions and Warning events.
namespace lifecycle {

/// Returns the text of an event and of `Stalled` for a change that waits for the pods of the JobSet.
std::string describe(const Waiting& waiting);

/// Returns the text of an event and of `Stalled` for a JobSet that waits for the deletion of a volume claim.
std::string describe(const WaitingForDeletion& waiting);

/// Returns the text of an event and of `Stalled` for Jobs that are not created again yet.
std::string describe(const JobsReplaced& replaced);

/// The text of an event and of `Stalled` for a JobSet that is created again after its deletion.
inline constexpr std::string_view job_set_being_deleted =
    "The JobSet is being deleted; it is created again once it is gone";

/// Sets or removes `Stalled`, the condition that says what keeps a TrainJob with a JobSet from going on. A
/// cause has to last first. Requeues for the next look, and adds Warning events: at first, after five minutes
/// and every half an hour.
void report_stall(Conclusion& conclusion, const Observed& observed, const Decision& decision,
                  const Outcome& outcome, api::Time now);

/// Adds a Warning event about a TrainJob that will not finish before its active deadline: one, until its
/// estimate fits again. Call it after everything that sets the retry state.
void report_at_risk(Conclusion& conclusion, const Observed& observed, api::Time now);

/// Adds one Warning event about a progress deadline with errors, which admission denies. Such a deadline
/// counts as none. Call it after everything that sets the retry state.
void report_invalid_deadline(Conclusion& conclusion, const Observed& observed);

/// Adds one Warning event about a time limit that has passed but ends nothing, since the clock is not
/// certain: one, until it is. Call it after everything that sets the retry state.
void report_uncertain_clock(Conclusion& conclusion, const Observed& observed, api::Time now);

/// Adds one Warning event about a JobSet that stays as it was built. Call it after everything that sets the
/// retry state.
void report_kept_job_set(Conclusion& conclusion, const Observed& observed, const Decision& decision,
                         const Outcome& outcome);

/// Adds one event while Kueue keeps a JobSet that is_left_to_queue() from what its TrainJob says: suspended,
/// or running. Call it after everything that sets the retry state.
void report_queue(Conclusion& conclusion, const Observed& observed, const Decision& decision);

/// Adds a Warning event about a deletion that is blocked: a minute after its beginning, and every half an
/// hour from then on. A TrainJob that is being deleted waits for its JobSet, and that for its Jobs, Pods and
/// volume claims; a finalizer of any of them blocks all. The JobSet of a TrainJob that has ended waits
/// likewise. Call it last: it changes events, requeue and retry
/// state of the conclusion.
void report_blocked_deletion(Conclusion& conclusion, const Observed& observed, api::Time now);

}  // namespace lifecycle
