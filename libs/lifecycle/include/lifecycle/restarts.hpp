#pragma once
#include <optional>
#include <string>

#include "lifecycle/event.hpp"
#include "lifecycle/observed.hpp"

/// How often a TrainJob started again after a failure. JobSet's controller restarts and counts; a new JobSet
/// of the same TrainJob begins at 0, so that the earlier ones' restarts are in an annotation of it.
namespace lifecycle {

/// The numbers as the status ought to have them. Without a JobSet of ours, what was known stays.
api::Restarts restarts(const Observed& observed);

/// The restarts before a JobSet that is built now: those of the JobSet that is there, since it will be
/// changed and not made anew, or else all that are known.
api::Restarts restarts_before(const Observed& observed);

/// Whether a status from this view would have fewer restarts than it has. An old view of a JobSet must not
/// take back what is stored: one that is gone cannot tell it again.
bool takes_back_restarts(const Observed& observed);

/// "1 of 3 counted": those that count towards the maximum, over all JobSets of the TrainJob. Without a
/// failure policy there is no maximum: "1 counted".
std::string counted_restarts(const api::JobSet& job_set);

/// A warning if there are more restarts than the stored status tells, to be sent once `now` is stored.
std::optional<Event> restart_event(const Observed& observed, const api::Restarts& now);

}  // namespace lifecycle
