#pragma once
#include <optional>
#include <string_view>

namespace api {

/// A decimal number as JSON writes it (a leading "+", ".5" and "5." pass as well). What is too small for a
/// double is zero; nullopt when it is too large, or when the text is something else.
std::optional<double> to_double(std::string_view text);

}  // namespace api
