#pragma once
#include "api/condition.hpp"
#include "api/json.hpp"

/// What the Job controller says of a Job of a JobSet.
namespace lifecycle {

inline bool has_true_condition(const api::Json& job, std::string_view type) {
    return api::is_true(api::parse_conditions(job["status"]["conditions"]), type);
}

inline bool is_finished(const api::Json& job) {
    return has_true_condition(job, "Complete") || has_true_condition(job, "Failed");
}

}  // namespace lifecycle
