#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "api/error.hpp"

namespace net {

class Options;

enum class TlsVersion { v1_2, v1_3 };

/// Cipher suites by their IANA names, in the order of preference.
struct CipherSuites {
    std::vector<std::string> names = {};

    bool operator==(const CipherSuites&) const = default;
};

/// What servers take of clients.
struct TlsPolicy {
    TlsVersion min_version = TlsVersion::v1_2;
    /// Empty: all that read_option() allows. Without one of TLS 1.2, no TLS 1.2; without one of TLS 1.3, all
    /// of TLS 1.3, as in Go's servers, which cannot choose them.
    CipherSuites suites = {};

    bool operator==(const TlsPolicy&) const = default;
};

/// "1.2" or "1.3", or as Kubernetes' components have it: "VersionTLS12" or "VersionTLS13".
api::Result<> read_option(std::string_view text, TlsVersion& target);
std::string show_option(TlsVersion value);
/// A list with commas. Every suite has forward secrecy and is an AEAD.
api::Result<> read_option(std::string_view text, CipherSuites& target);
std::string show_option(const CipherSuites& value);

/// Adds --tls-min-version and --tls-cipher-suites. `policy` must outlive the options.
void add_tls_options(Options& options, TlsPolicy& policy);
/// Checks combinations that the types of the options cannot exclude.
api::Result<> check(const TlsPolicy& policy);

}  // namespace net
