#pragma once
#include <span>
#include <string_view>

#include "api/json.hpp"

namespace runtime {

/// The maximum number of entries of a list or map in a TrainJob's spec, and the member that identifies the
/// items of a list. By name: lists and maps with the same name have the highest limit of them in the schema.
struct Limit {
    std::string_view name;
    std::size_t most;
    std::string_view key = {};
};
std::span<const Limit> train_job_limits();

/// Checks whether a TrainJob's `spec` keeps to these limits, with unique keys in lists; paths begin with
/// "spec". An API server has checked that before it calls the webhook, except for values that were stored
/// before there was a limit and that an update does not change. So if `old_spec` (null: there is none) was
/// above a limit already, the new one may be too.
api::Result<> check_train_job_limits(const api::Json& spec, const api::Json& old_spec);

}  // namespace runtime
