#pragma once
#include "lifecycle/conclusion.hpp"

namespace lifecycle {

/// A TrainJob that is being deleted waits for its JobSet, and that for its Jobs, Pods and volume claims; a
/// finalizer of any of them holds up all. After a minute, and every half an hour from then on, a Warning
/// event says what is known of it. To be called last: it adds to the conclusion's events, requeue
/// and retry state.
void report_blocked_deletion(Conclusion& conclusion, const Observed& observed, api::Time now);

}  // namespace lifecycle
