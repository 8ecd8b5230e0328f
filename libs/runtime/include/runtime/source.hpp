#pragma once
#include <string>

#include "runtime/build.hpp"

namespace runtime {

/// Returns a hash of everything that the fixed_part() of a JobSet is built from: without the fields that may
/// change while it is suspended, as queues change them, and without `spec.suspend`. Another release may build
/// something different from the same source, which is no reason for a new JobSet.
std::string source_of(const Inputs& inputs);

}  // namespace runtime
