#pragma once
#include <string>

#include "kube/client/config.hpp"

namespace cli {

/// Returns the proxy for HTTPS that the environment names for this host, as kubectl reads it: $HTTPS_PROXY or
/// $https_proxy, except for hosts of $NO_PROXY or $no_proxy (names with their subdomains, addresses,
/// networks, with or without a port, and *), and for this machine. A URL; empty: none.
std::string proxy_of_variables(const std::string& host, const std::string& port, const kube::ReadEnv& env);

}  // namespace cli
