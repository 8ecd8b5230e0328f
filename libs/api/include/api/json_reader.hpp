#pragma once
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "api/json.hpp"

namespace api {

/// Names of members from the root to one of them, and `[]` for each item of a list. At least one.
using JsonPath = std::span<const std::string_view>;
using JsonPaths = std::span<const JsonPath>;

/// As parse_json(), without the members at such paths: their text has to be valid as well, but no tree is
/// made of it.
Result<Json> parse_json_without(std::string_view text, JsonPaths omit);

/// The string at that path; "" if none is there. Reads no further than to it: what follows may be anything.
std::string find_string(std::string_view text, JsonPath path);

/// How many values (a member counts twice) a JSON text holds, at most: each follows one of ,:[{ or is the
/// first.
std::size_t count_values(std::string_view json);
/// The same of a tree.
std::size_t count_tree_values(const Json& value);

}  // namespace api
