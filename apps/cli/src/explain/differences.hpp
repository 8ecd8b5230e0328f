#pragma once
#include <string>
#include <vector>

#include "api/json.hpp"

namespace cli {

/// Returns "mlPolicy.numNodes: 1 -> 4", a line for each difference of two trees. Entries of lists are
/// identified by name if all have one, else by position. Long values are cut.
std::vector<std::string> field_differences(const api::Json& before, const api::Json& after);

}  // namespace cli
