#pragma once
#include <string>
#include <string_view>

#include "api/error.hpp"
#include "net/http/http.hpp"

namespace net {

/// Returns whether a comma-separated header value contains this word, compared without case.
bool has_token(std::string_view value, std::string_view word);

/// Returns the whole request as sent. Fails with `invalid` if a part would break the framing.
api::Result<std::string> request_text(const HttpRequest& request, std::string_view host);

/// Appends the whole response. Omits header fields that would break the framing.
void append_response(std::string& out, const HttpResponse& response, bool close, bool without_body);

}  // namespace net
