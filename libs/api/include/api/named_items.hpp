#pragma once
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json.hpp"

namespace api {

/// The item of a list of objects that has this `name`, of several the first; nullptr if there is none.
const Json* find_named(const Json& list, std::string_view name);
Json* find_named(Json* list, std::string_view name);

/// find_named() for several names in the same lists: long ones are indexed, so that a thousand names in a
/// list of a thousand are no million comparisons. The lists must stay as they are. (Indexes of what others
/// write are sorted, not hashed: names of one hash are easily made.) Thread rule: one thread.
class NamedItems {
public:
    const Json* find(const Json& list, std::string_view name);

private:
    using Index = std::vector<std::pair<std::string_view, const Json*>>;  // sorted
    std::map<const Json*, Index> indexes_ = {};
};

}  // namespace api
