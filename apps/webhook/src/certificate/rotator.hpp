#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "certificate/serving_certificate.hpp"
#include "certificate/shared_secret.hpp"
#include "kube/client/api_server.hpp"
#include "kube/client/clock.hpp"
#include "net/process/log.hpp"

namespace webhook {

/// --self-signed: stores a certificate that this program makes in a Secret, and its CA in the webhook
/// configurations, and uses both. All replicas do the same. Each write has the version that was read as its
/// precondition, and all replicas use the stored certificate.
///
/// A new certificate is presented only after all configurations have trusted it for a while. Until then the
/// former one is presented, whose CA they continue to trust. So no API server gets a certificate that it
/// cannot trust. The Secret has the CAs in use: each replica writes that of the certificate that it presents.
/// Any other CA in a configuration stays for the time that replicas need for that write, and is then removed.
/// Thread rule: one thread.
class CertificateRotator {
public:
    struct Options {
        api::ObjectKey secret = {};
        api::ObjectKey service = {};
        std::chrono::seconds lifetime = {};
        std::string client_ca_file = {};  ///< goes into the identity; empty: none
        std::string instance = {};        ///< of SharedSecret
    };

    /// All arguments but the options must outlive it.
    CertificateRotator(kube::ApiServer& server, kube::Clock& clock, Options options, net::Tls& tls,
                       net::Log& log);

    /// Ends by cancellation only.
    net::Task<> run();

    /// Returns whether a certificate is presented that API servers trust.
    bool in_use() const { return used_.has_value(); }

private:
    using Wait = std::chrono::milliseconds;

    /// Reads all objects, and writes at most one kind of change. Returns when to call it again.
    net::Async<Wait> rotate();
    /// `what` is a literal for the log.
    net::Async<> write_certificate(api::Json secret, ServingCertificate made, std::string_view what);
    /// Returns the CAs that stay trusted beside a new certificate's CA: that of the presented one, and
    /// those of the Secret.
    std::string former_bundle(const ServingCertificate* stored, api::Time now) const;
    /// Returns the stored bundle, with the CA of the presented certificate.
    std::string bundle_with_presented_ca(const ServingCertificate& stored, api::Time now) const;
    bool other_replicas_may_write(const ServingCertificate& stored);
    api::Result<std::string> client_ca();
    Wait time_until_shown(const ServingCertificate& certificate);
    api::Result<Wait> use(const ServingCertificate& certificate);
    Wait time_after_write(const std::string& cert_pem);
    void note(const api::Result<Wait>& outcome);

    kube::ApiServer& server_;
    kube::Clock& clock_;
    Options options_;
    net::Tls& tls_;
    net::Log& log_;
    SharedSecret secret_;
    CertificateWishes wishes_;
    Wait interval_;
    Wait settling_;
    std::optional<ServingCertificate> used_ = {};
    std::string known_cert_ = {};  // the stored one, and since when it has been
    kube::SteadyTime known_since_ = {};
    std::string trusted_cert_ = {};  // the certificate that all configurations trusted at the last round
    kube::SteadyTime trusted_since_ = {};
    std::string written_cert_ =
        {};  // the certificate whose CA was written last, when, and how often in a row
    kube::SteadyTime written_at_ = {};
    int times_written_ = 0;
    std::optional<std::string> client_ca_ = {};  // the last valid one
    std::string client_ca_error_ = {};           // the last log line
    std::string error_ = {};                     // and for everything else
};

}  // namespace webhook
