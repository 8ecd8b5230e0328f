#pragma once
#include <string_view>

#include "api/json.hpp"

namespace api {

/// Returns the UID of the JobSet that the Pod says it is of, by JobSet's label. Empty if no Job controls it:
/// then a user may have made it. Refers to the Pod.
std::string_view job_set_uid_of(const Json& pod);

}  // namespace api
