#pragma once
#include <string>
#include <string_view>

#include "api/error.hpp"
#include "net/http/http.hpp"

namespace kube {

struct ServerUrl {
    bool tls = true;
    std::string host = {};  ///< IPv6 without brackets
    std::string port = {};
    std::string path = {};  ///< without a final slash
};

/// Parses the `server` of a kubeconfig. The error's message completes a sentence that begins with the field's
/// name.
api::Result<ServerUrl> parse_server_url(std::string_view text);

/// Parses the `proxy-url` of a kubeconfig, http://[USER:PASSWORD@]HOST:PORT. Errors as above; they contain
/// neither user nor password.
api::Result<net::HttpProxy> parse_proxy_url(std::string_view text);

}  // namespace kube
