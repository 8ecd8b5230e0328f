#pragma once
#include "api/error.hpp"

namespace lifecycle {

/// Returns whether a JobSet was refused only because a quota of the number of JobSets is full, and not more
/// than full: deleting one of the namespace makes room. The API server checks quotas last, so no other check
/// refuses the JobSet; but it names one quota only.
bool deletion_makes_room(const api::Error& refusal);

}  // namespace lifecycle
