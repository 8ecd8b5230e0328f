#pragma once
#include "lifecycle/outcome.hpp"

namespace controller {

/// Why a step of a pass ended it; Done if it did not.
using StepFailure = decltype(lifecycle::Outcome::result);

}  // namespace controller
