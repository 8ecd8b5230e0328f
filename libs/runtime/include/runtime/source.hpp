#pragma once
#include <string>

#include "runtime/build.hpp"

namespace runtime {

/// A hash of all that a JobSet is built from but `spec.suspend`. What another release builds of the same may
/// differ, and is not worth a new JobSet.
std::string source_of(const Inputs& inputs);

}  // namespace runtime
