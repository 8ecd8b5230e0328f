#pragma once
#include <string>
#include <vector>

#include "api/json.hpp"

namespace runtime {

/// Removes these replicated jobs from the spec of a JobSet, and their names from what others wait for.
void leave_out(api::Json& job_set_spec, const std::vector<std::string>& jobs);

}  // namespace runtime
