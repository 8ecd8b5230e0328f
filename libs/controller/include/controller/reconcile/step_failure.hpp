#pragma once
#include "lifecycle/outcome.hpp"

namespace controller {

/// Why a step ended the reconcile; Done if it did not.
using StepFailure = decltype(lifecycle::Outcome::result);

}  // namespace controller
