#pragma once
#include "api/error.hpp"

namespace lifecycle {

/// Whether a JobSet was refused only because a quota of the number of JobSets is full, and not more than
/// full: deleting one of the namespace makes room. The API server asks quotas last, so that nothing else
/// stands in the way; but it names one quota only.
bool deletion_makes_room(const api::Error& refusal);

}  // namespace lifecycle
