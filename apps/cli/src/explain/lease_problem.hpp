#pragma once
#include <string>

#include "explain/report.hpp"

namespace cli {

/// Says that no reconciler works, and for how long; empty if one does, or there is no lease to be
/// read: reconcilers may use another one, or none.
std::string lease_problem(const RelatedObjects& seen, api::Time now);

}  // namespace cli
