#pragma once
#include <optional>
#include <string>

#include "lifecycle/conclusion.hpp"

namespace lifecycle {

/// Notes what was seen of the JobSet's Service, and requeues for the next look. Returns what to say while a
/// Service of another owner stands in its way; nullopt if none does. Call it after everything that sets the
/// retry state.
std::optional<std::string> follow_service(Conclusion& conclusion, const Observed& observed,
                                          const Decision& decision, const Outcome& outcome, api::Time now);

}  // namespace lifecycle
