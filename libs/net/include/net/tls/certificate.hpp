#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "api/error.hpp"
#include "api/time.hpp"
#include "net/tls/identity.hpp"

namespace net {

/// The fields of a certificate that the caller chooses or reads.
struct CertificateFields {
    api::Time not_before = {};
    api::Time not_after = {};
    std::vector<std::string> dns_names = {};
};

/// Reads the first certificate of a PEM text. Fails if the text has a broken certificate or none.
api::Result<CertificateFields> certificate_fields(std::string_view pem);

/// Returns each certificate of a PEM text as a text of its own. Fails as certificate_fields().
api::Result<std::vector<std::string>> split_certificates(std::string_view pem);

/// Returns whether the CA's key signed the certificate; false if a text is broken.
bool is_issued_by(std::string_view certificate_pem, std::string_view authority_pem);

/// Returns whether the private key is that of the certificate; false if a text is broken.
bool is_key_of(std::string_view key_pem, std::string_view certificate_pem);

/// A CA with its key, in PEM.
struct Authority {
    std::string cert_pem = {};
    std::string key_pem = {};

    bool operator==(const Authority&) const = default;
};

/// Makes a P-256 key and the certificate of a CA, which may issue certificates for servers. `fields` needs no
/// names. Throws std::runtime_error if OpenSSL has no memory or no randomness, as the functions below.
Authority make_authority(const std::string& common_name, const CertificateFields& fields);

/// Makes a P-256 key and a serving certificate of that CA. `fields` needs at least one name. Throws
/// std::runtime_error if the CA is broken, too.
TlsIdentity issue_certificate(const Authority& authority, const std::string& common_name,
                              const CertificateFields& fields);

/// A serving certificate and the CA that issued it. The CA cannot issue another one: its key is discarded
/// after signing.
struct SelfSigned {
    std::string ca_pem = {};
    TlsIdentity identity = {};
};

/// Makes P-256 keys and both certificates. `fields` needs at least one name.
SelfSigned make_self_signed(const CertificateFields& fields);

}  // namespace net
