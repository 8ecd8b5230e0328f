#pragma once
#include <string>
#include <string_view>

#include "api/error.hpp"

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

}  // namespace kube
