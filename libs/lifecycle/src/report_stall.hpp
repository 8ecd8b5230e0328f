#pragma once
#include "lifecycle/conclusion.hpp"

namespace lifecycle {

/// Sets or removes `Stalled`, the condition that says what keeps a TrainJob with a JobSet from going on. A
/// cause has to last first. Asks for the next look, and adds Warning events: at first, after five minutes and
/// every half an hour.
void report_stall(Conclusion& conclusion, const Observed& observed, const Decision& decision,
                  const Outcome& outcome, api::Time now);

}  // namespace lifecycle
