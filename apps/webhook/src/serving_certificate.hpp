#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "api/json.hpp"
#include "api/object_key.hpp"
#include "api/time.hpp"
#include "net/tls.hpp"

namespace webhook {

/// What a certificate that we make shall say.
struct CertificateWishes {
    std::vector<std::string> dns_names = {};
    std::chrono::seconds lifetime = {};
};

/// The names under which API servers call a Service.
std::vector<std::string> names_of_service(const api::ObjectKey& service);

/// A serving certificate as a Secret keeps it, with the CAs that those who call shall trust. Pure, but for
/// the keys.
struct ServingCertificate {
    net::TlsIdentity identity = {};
    std::string ca_bundle = {};  ///< PEM; the CA of this certificate first, then former ones
    api::Time made_at = {};
    api::Time not_after = {};
};

/// From a Secret in the form that cert-manager writes as well: tls.crt, tls.key, ca.crt. Fails when it is
/// of no use: broken, for other names, over, or not issued by the first CA.
api::Result<ServingCertificate> read_serving_certificate(const api::Json& secret,
                                                         const CertificateWishes& wishes, api::Time now);

/// After two thirds of its life, so that there is time for trouble.
bool is_due(const ServingCertificate& certificate, api::Time now);

/// A new one, with a CA of its own. Those of `former_bundle` that are not over stay trusted: other replicas
/// show their certificates for a while.
ServingCertificate make_serving_certificate(const std::string& former_bundle, const CertificateWishes& wishes,
                                            api::Time now);

/// Puts it into a Secret, whatever that holds.
void store(const ServingCertificate& certificate, api::Json& secret);
api::Json new_secret(const api::ObjectKey& key, const ServingCertificate& certificate);

/// How many of a configuration's webhooks call the Service.
/// PEM of the CAs whose clients may call; "" without a file, which lets everybody. An empty file is an error:
/// it must not turn the check off.
api::Result<std::string> read_client_ca(const std::string& file);

/// What its webhooks that call the service trust; PEM, "" if there is none.
std::string ca_bundle_of(const api::Json& configuration, const api::ObjectKey& service);

int count_webhooks(const api::Json& configuration, const api::ObjectKey& service);
/// Gives those webhooks the bundle; whether that changed anything.
bool fill_ca_bundle(api::Json& configuration, const api::ObjectKey& service, const std::string& ca_bundle);

}  // namespace webhook
