#pragma once
#include <string>
#include <string_view>

#include "api/error.hpp"
#include "net/http.hpp"

namespace net {

/// Header names are equal in any case.
bool same_name(std::string_view a, std::string_view b);

/// Whether a comma-separated header value contains this word, in any case.
bool has_token(std::string_view value, std::string_view word);

/// The whole request as it goes over the wire. Fails with `invalid` when a part would break the framing.
api::Result<std::string> request_text(const HttpRequest& request, std::string_view host);

/// Appends the whole response. Header fields that would break the framing are left out.
void append_response(std::string& out, const HttpResponse& response, bool close, bool without_body);

}  // namespace net
