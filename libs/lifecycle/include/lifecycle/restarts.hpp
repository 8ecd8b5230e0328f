#pragma once
#include <optional>
#include <string>

#include "lifecycle/event.hpp"
#include "lifecycle/observed.hpp"

/// How often a TrainJob started again after a failure. Each JobSet has the restarts of the earlier ones in an
/// annotation. Where the template has a failure policy of its own, JobSet's controller restarts and counts,
/// beginning at 0; an attempt (judge.hpp) has no restarts of its own.
namespace lifecycle {

/// Returns the numbers to store in the status. Without an own JobSet, and once its attempt is counted, the
/// stored ones stay.
api::Restarts restarts(const Observed& observed);

/// Returns the restarts before a JobSet that is built now: if there is a JobSet, those before it, since it
/// will be changed and not made anew; else all that are known.
api::Restarts restarts_before(const Observed& observed);

/// Returns whether a status from this view would have fewer restarts than the stored one. An old view of a
/// JobSet must not take restarts back: a JobSet that is gone cannot report them again.
bool takes_back_restarts(const Observed& observed);

/// Returns "1 of 3 counted": the restarts that count towards the maximum, over all JobSets of the TrainJob.
/// Without a failure policy there is no maximum: "1 counted".
std::string counted_restarts(const api::JobSet& job_set);

/// Returns a Warning event if JobSet has restarted the job more often than the stored status says, to be sent
/// once `now` is stored.
std::optional<Event> restart_event(const Observed& observed, const api::Restarts& now);

}  // namespace lifecycle
