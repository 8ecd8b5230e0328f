#pragma once
#include <string_view>
#include <vector>

#include "api/json.hpp"

namespace api {

/// One YAML document (JSON is YAML) as Kubernetes reads it: quoted scalars are strings, plain ones are typed
/// by YAML 1.1's rules for null, booleans, integers and floats. Errors carry line and column. Aliases that
/// would expand to more than a megabyte of nodes are refused.
Result<Json> parse_yaml(std::string_view text);

/// Every document of a stream; empty documents are left out.
Result<std::vector<Json>> parse_yaml_documents(std::string_view text);

/// Block style, keys sorted, strings quoted where a plain scalar would read back as something else.
std::string to_yaml(const Json& value);

}  // namespace api
