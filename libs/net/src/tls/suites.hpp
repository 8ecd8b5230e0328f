#pragma once
#include <string>

#include "net/tls/tls_policy.hpp"

namespace net {

/// Returns the oldest version that the policy leaves: one without suites is none.
TlsVersion lowest_version(const TlsPolicy& policy);

/// Returns the suites of one version as OpenSSL writes a list; empty: all that OpenSSL's context has.
std::string openssl_names(const TlsPolicy& policy, TlsVersion version);

}  // namespace net
