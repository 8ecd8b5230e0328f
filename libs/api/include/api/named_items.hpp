#pragma once
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json.hpp"

namespace api {

/// Returns the item with this `name` in a list of objects; of several the first; nullptr if there is none.
const Json* find_named(const Json& list, std::string_view name);
Json* find_named(Json* list, std::string_view name);

/// Calls find_named() for several names in the same lists. Long lists are indexed, so that a thousand names
/// in a list of a thousand do not take a million comparisons. The lists must not change meanwhile. The
/// indexes are sorted, not hashed, since users can easily choose names with equal hashes. Thread rule: one
/// thread.
class NamedItems {
public:
    const Json* find(const Json& list, std::string_view name);

private:
    using Index = std::vector<std::pair<std::string_view, const Json*>>;  // sorted
    std::map<const Json*, Index> indexes_ = {};
};

}  // namespace api
