#pragma once
#include <chrono>
#include <optional>

#include "lifecycle/observed.hpp"

namespace lifecycle {

/// A TrainJob that by its own estimate ends after its active deadline.
struct Overrun {
    std::chrono::seconds needs{0};
    std::chrono::seconds has{0};  ///< until the deadline
};

/// Returns the overrun if the estimate, less the age of its report, exceeds the time left by 5 % and 60 s.
/// Empty without reports since the last start.
std::optional<Overrun> overrun(const Observed& observed, api::Time now);

}  // namespace lifecycle
