#pragma once
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "api/json.hpp"

namespace api {

/// The names of the members from the root to one member, with `[]` for each item of a list. At least one.
using JsonPath = std::span<const std::string_view>;
using JsonPaths = std::span<const JsonPath>;

/// Parses as parse_json(), without the members at these paths. Their text has to be valid too, but is not
/// stored.
Result<Json> parse_json_without(std::string_view text, JsonPaths omit);

/// Returns the string at that path; "" if there is none. Reads no further, so the text after it may be
/// invalid.
std::string find_string(std::string_view text, JsonPath path);

/// Returns an upper bound of the number of values in a JSON text (a member counts twice): each follows one of
/// ,:[{ or is the first.
std::size_t count_values(std::string_view json);
/// Returns the same bound for a tree.
std::size_t count_tree_values(const Json& value);

}  // namespace api
