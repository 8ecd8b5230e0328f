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

/// What a certificate that Pods are shown shall say.
struct ProgressCertificateWishes {
    std::vector<std::string> dns_names = {};
    std::chrono::seconds lifetime = {};
};

/// The certificate of the server of progress reports as a Secret keeps it, with the CAs that Pods trust. Some
/// training code reads the CAs once, at its start. So a CA lasts for years, and its key is kept: a renewed
/// certificate is of a CA that all Pods know. Pure, but for the keys.
struct ProgressCertificate {
    static constexpr std::chrono::hours authority_lifetime{10 * 365 * 24};
    /// In the last year of a CA a second one is trusted, too.
    static constexpr std::chrono::hours joins_before_end{365 * 24};
    /// A further CA issues certificates only when it has been trusted for so long.
    static constexpr std::chrono::hours trusted_before_use{90 * 24};

    net::TlsIdentity identity = {};                ///< empty: none that is good
    std::vector<net::Authority> authorities = {};  ///< the oldest first
    api::Time not_after = {};                      ///< of the certificate
};

/// Reads tls.crt, tls.key, ca.crt and ca.key (the keys of the CAs) of a Secret. Leaves out CAs that are
/// broken, over, or without their key, and a certificate that is broken, over, for other names or of another
/// CA.
ProgressCertificate read_progress_certificate(const api::Json& secret,
                                              const ProgressCertificateWishes& wishes, api::Time now);

/// Returns what is to be stored in place of `stored`; nullopt if that is good. A certificate is renewed after
/// two thirds of its life.
std::optional<ProgressCertificate> renewed(const ProgressCertificate& stored,
                                           const ProgressCertificateWishes& wishes, api::Time now);

/// Puts it into a Secret.
void store(const ProgressCertificate& certificate, api::Json& secret);

}  // namespace webhook
