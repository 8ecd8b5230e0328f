#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "api/error.hpp"
#include "api/time.hpp"
#include "net/tls.hpp"

namespace net {

/// What a certificate says of itself.
struct CertificateFacts {
    api::Time not_before = {};
    api::Time not_after = {};
    std::vector<std::string> dns_names = {};
};

/// Of the first certificate of a PEM text.
api::Result<CertificateFacts> certificate_facts(std::string_view pem);

/// Each certificate of a PEM text as a text of its own.
api::Result<std::vector<std::string>> split_certificates(std::string_view pem);

/// Whether the CA's key signed the certificate.
bool is_issued_by(std::string_view certificate_pem, std::string_view authority_pem);

/// A serving certificate with a CA that has issued this one and cannot issue another: its key is thrown away
/// once it has signed.
struct SelfSigned {
    std::string ca_pem = {};
    TlsIdentity identity = {};
};

/// With P-256 keys. `facts`: what it shall say; at least one name. Throws std::runtime_error when OpenSSL has
/// no memory or no randomness.
SelfSigned make_self_signed(const CertificateFacts& facts);

}  // namespace net
