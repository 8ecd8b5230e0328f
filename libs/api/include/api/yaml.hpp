#pragma once
#include <string_view>
#include <vector>

#include "api/json.hpp"

namespace api {

/// One YAML document as Kubernetes reads it: quoted scalars are strings, plain ones are typed by YAML 1.1's
/// rules for null, booleans, integers and floats. Keys become strings, and may not occur twice. No document
/// at all reads as null. Errors carry line and column. Anchors and aliases that stand for more than a
/// megabyte are refused. A text that is JSON is read by parse_json.
Result<Json> parse_yaml(std::string_view text);

/// As parse_yaml(), for a text of which nothing is known, and which is not tried as JSON: refused before it
/// is read if it can have more than `most_tokens`, and read once: its last line counts as a whole one. A
/// token takes 300 bytes while it is read, as long as a list or map in brackets is open, and a microsecond at
/// worst.
Result<Json> parse_hostile_yaml(std::string_view text, std::size_t most_tokens);

/// Every document of a stream; empty documents are left out.
Result<std::vector<Json>> parse_yaml_documents(std::string_view text);

/// Block style, keys sorted, strings quoted where a plain scalar would read back as something else.
std::string to_yaml(const Json& value);

}  // namespace api
