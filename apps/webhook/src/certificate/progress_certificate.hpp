#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "api/json.hpp"
#include "api/time.hpp"
#include "net/tls/certificate.hpp"
#include "net/tls/tls.hpp"

namespace webhook {

/// The contents of a certificate that the server presents to Pods.
struct ProgressCertificateWishes {
    std::vector<std::string> dns_names = {};
    std::chrono::seconds lifetime = {};
};

/// The certificate of the server of progress reports as it is stored in a Secret, with the CAs that Pods
/// trust. Some training code reads the CAs once, at its start. So a CA lasts for years, and its key is kept:
/// a renewed certificate is of a CA that all Pods trust. Pure, except for the generation of keys.
struct ProgressCertificate {
    static constexpr std::chrono::hours authority_lifetime{10 * 365 * 24};
    /// In the last year of a CA a second one is trusted, too.
    static constexpr std::chrono::hours joins_before_end{365 * 24};
    /// A new CA issues certificates only after it has been trusted for this time.
    static constexpr std::chrono::hours trusted_before_use{90 * 24};
    /// Two are regular. A Secret with more is not of this program.
    static constexpr std::size_t most_authorities = 8;

    net::TlsIdentity identity = {};                ///< empty: no valid one
    std::vector<net::Authority> authorities = {};  ///< the oldest first
    api::Time not_after = {};                      ///< of the certificate
};

/// Reads tls.crt, tls.key, ca.crt and ca.key (the keys of the CAs) of a Secret. Looks at the first
/// `most_authorities` CAs and keys. Omits CAs that are broken,
/// expired, or without their key, and a certificate that is broken, expired, for other names or of another
/// CA.
ProgressCertificate read_progress_certificate(const api::Json& secret,
                                              const ProgressCertificateWishes& wishes, api::Time now);

/// Returns what to store in place of `stored`; nullopt if that is valid. A certificate is renewed after two
/// thirds of its lifetime.
std::optional<ProgressCertificate> renewed(const ProgressCertificate& stored,
                                           const ProgressCertificateWishes& wishes, api::Time now);

/// Writes it into a Secret.
void store(const ProgressCertificate& certificate, api::Json& secret);

}  // namespace webhook
