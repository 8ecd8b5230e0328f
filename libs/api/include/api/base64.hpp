#pragma once
#include <string>
#include <string_view>

#include "api/error.hpp"

namespace api {

/// RFC 4648 with padding.
std::string to_base64(std::string_view bytes);
/// Accepts line breaks, as kubeconfigs and PEM have them.
Result<std::string> from_base64(std::string_view text);
/// RFC 4648's alphabet for URLs without padding, as JSON web tokens have it. Accepts no line breaks.
Result<std::string> from_base64url(std::string_view text);

}  // namespace api
