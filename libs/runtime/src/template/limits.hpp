#pragma once
#include <span>
#include <string_view>

#include "api/json.hpp"

namespace runtime {

/// How many entries a list or map of a TrainJob's spec may have, and the member that tells the items of a
/// list apart. By name: each list or map of a name has the limit that the most generous of them has in the
/// schema.
struct Limit {
    std::string_view name;
    std::size_t most;
    std::string_view key = {};
};
std::span<const Limit> train_job_limits();

/// Whether a TrainJob's `spec` keeps to these limits, with each key once in a list; paths begin with "spec".
/// An API server has seen to that before it asks for a review, but for what was stored before there was a
/// limit and an update leaves as it is: where `old_spec` (null: there is none) was beyond a limit already,
/// the new one may be.
api::Result<> check_train_job_limits(const api::Json& spec, const api::Json& old_spec);

}  // namespace runtime
