#pragma once
#include "lifecycle/outcome.hpp"

namespace reconciler {

/// Why a step of a pass ended it; Done if it did not.
using Failure = decltype(lifecycle::Outcome::result);

}  // namespace reconciler
