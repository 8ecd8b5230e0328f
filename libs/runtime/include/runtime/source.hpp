#pragma once
#include <string>

#include "runtime/build.hpp"

namespace runtime {

/// A hash of all that the fixed_part() of a JobSet is built from: without what may change while it is
/// suspended, as queues do it, and without `spec.suspend`. What another release builds of the same may
/// differ, and is not worth a new JobSet.
std::string source_of(const Inputs& inputs);

}  // namespace runtime
