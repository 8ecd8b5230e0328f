#pragma once
#include "lifecycle/conclusion.hpp"

namespace lifecycle {

/// Whether the JobSet has not started for so long that `Stalled` says so, and its events may tell why: they
/// are to be read now, and on a live view. Once a minute.
bool wants_events(const Observed& observed, const Decision& decision, const Outcome& outcome, api::Time now);

/// Since when an event can be about the start of the JobSet.
api::Time start_of(const Observed& observed);

}  // namespace lifecycle
