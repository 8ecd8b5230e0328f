#pragma once
#include <string>
#include <vector>

#include "api/json.hpp"

namespace cli {

/// "mlPolicy.numNodes: 1 -> 4", a line for each place where two trees differ. Entries of lists are told apart
/// by their names where all have one, else by their position; long values are cut.
std::vector<std::string> field_differences(const api::Json& before, const api::Json& after);

}  // namespace cli
