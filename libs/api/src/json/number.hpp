#pragma once
#include <optional>
#include <string_view>

namespace api {

/// Parses a decimal number in JSON's form (also with a leading "+", ".5" and "5."). Returns zero for a value
/// too small for a double; nullopt for one that is too large, or for other text.
std::optional<double> to_double(std::string_view text);

}  // namespace api
