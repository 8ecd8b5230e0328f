#pragma once
#include "api/json.hpp"
#include "runtime/info.hpp"

namespace runtime {

/// How many characters the name of a TrainJob may have, as far as the names of one replicated job's Pods go;
/// none at all if it is less than one.
std::int64_t longest_name_for(const api::Json& job, const PodSet& pods);

}  // namespace runtime
