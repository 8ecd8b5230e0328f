#pragma once
#include <string>

#include "explain/report.hpp"

namespace cli {

/// Returns a sentence that no reconciler works, and for how long. Empty if one does, or if no lease can be
/// read: reconcilers may use another one, or none.
std::string lease_problem(const RelatedObjects& seen, api::Time now);

}  // namespace cli
