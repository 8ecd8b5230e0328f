#pragma once
#include <string>
#include <string_view>

#include "api/error.hpp"

namespace api {

/// Encodes by RFC 4648 with padding.
std::string to_base64(std::string_view bytes);
/// Decodes. Accepts line breaks, which kubeconfigs and PEM files have.
Result<std::string> from_base64(std::string_view text);
/// Decodes RFC 4648's alphabet for URLs without padding, which JSON web tokens use. Accepts no line breaks.
Result<std::string> from_base64url(std::string_view text);

}  // namespace api
