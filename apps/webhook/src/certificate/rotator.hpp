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

/// --self-signed: keeps a certificate of our own in a Secret, its CA in the webhook configurations, and both
/// in use. All replicas do the same; whatever one writes is conditional on what it has read, and they agree
/// on what is stored.
///
/// A new certificate is shown only when all configurations have trusted it for a while, and until then the
/// former one is, whose CA they go on to trust: no call meets a certificate that its API server cannot know.
/// Which CAs those are, the Secret says: each replica puts that of what it shows there. Any other that is
/// found in a configuration is left there for the time that replicas need for that, and then taken out.
/// Thread rule: one thread.
class CertificateRotator {
public:
    struct Options {
        api::ObjectKey secret = {};
        api::ObjectKey service = {};
        std::chrono::seconds lifetime = {};
        std::string client_ca_file = {};  ///< goes into the identity; empty = none
        std::string instance = {};        ///< of SharedSecret
    };

    /// All but the options must outlive it.
    CertificateRotator(kube::ApiServer& server, kube::Clock& clock, Options options, net::Tls& tls,
                       net::Log& log);

    /// Ends by cancellation only.
    net::Task<> run();

    /// Whether a certificate is shown that API servers trust.
    bool in_use() const { return used_.has_value(); }

private:
    using Wait = std::chrono::milliseconds;

    /// One look at everything, and at most one kind of change; when to look again.
    net::Async<Wait> pass();
    /// `what` is for the log; a text that lasts.
    net::Async<> write_certificate(api::Json secret, ServingCertificate made, std::string_view what);
    /// What stays trusted beside a new certificate's CA: what we know ourselves, or from the Secret.
    std::string former_bundle(const ServingCertificate* stored, api::Time now) const;
    /// The stored bundle, with the CA of what we show.
    std::string bundle_with_ours(const ServingCertificate& stored, api::Time now) const;
    bool others_may_add_theirs(const ServingCertificate& stored);
    api::Result<std::string> client_ca();
    Wait time_until_shown(const ServingCertificate& certificate);
    api::Result<Wait> use(const ServingCertificate& certificate);
    Wait time_after_telling(const std::string& cert_pem);
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
    std::string trusted_cert_ = {};  // which certificate all configurations were last seen to trust
    kube::SteadyTime trusted_since_ = {};
    std::string told_cert_ = {};  // whose CA was filled in last, when, and how often in a row
    kube::SteadyTime told_at_ = {};
    int times_told_ = 0;
    std::optional<std::string> client_ca_ = {};  // the last that was good
    std::string client_ca_trouble_ = {};         // what the log was told last
    std::string trouble_ = {};                   // and of everything else
};

}  // namespace webhook
