#pragma once
#include <cstddef>
#include <string_view>

#include "api/json.hpp"

namespace api::yaml {

/// Returns the value of a plain scalar in Kubernetes' YAML, by the rules of go.yaml.in/yaml/v2 (resolve.go),
/// which sigs.k8s.io/yaml wraps. So y, yes, on, n, no and off are booleans in any of their three cases,
/// integers may be hexadecimal, octal or binary and have underscores, and timestamps stay strings. Fails on
/// infinities and NaN, which JSON lacks.
Result<Json> resolve_plain(std::string_view text);

/// Returns the value of a scalar with an explicit tag, such as "tag:yaml.org,2002:int". Unknown tags give
/// strings.
Result<Json> resolve_tagged(std::string_view tag, std::string_view text);

/// Returns an upper bound of the number of yaml-cpp's tokens in a text. Nested lists count more, as they take
/// longer.
std::size_t count_tokens(std::string_view text);

}  // namespace api::yaml
