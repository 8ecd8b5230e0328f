#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "api/json.hpp"
#include "api/object_key.hpp"
#include "api/time.hpp"
#include "net/tls/tls.hpp"

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
    std::string authority = {};  ///< PEM; the first of these
    api::Time not_before = {};   ///< earlier than `made_at`, as clocks differ
    api::Time made_at = {};
    api::Time not_after = {};
};

/// From a Secret in the form that cert-manager writes as well: tls.crt, tls.key, ca.crt. Fails when it is
/// of no use: broken, for other names, over, or not issued by the first CA.
api::Result<ServingCertificate> read_serving_certificate(const api::Json& secret,
                                                         const CertificateWishes& wishes, api::Time now);

/// After two thirds of its life, so that there is time for trouble.
bool is_due(const ServingCertificate& certificate, api::Time now);

/// A new one, with a CA of its own. Those of `former_bundle` stay trusted, as join_bundles() has it: other
/// replicas show their certificates for a while.
ServingCertificate make_serving_certificate(const std::string& former_bundle, const CertificateWishes& wishes,
                                            api::Time now);

/// The CAs of all these bundles in their order, each once, without those that are over, and the first 8 at
/// most.
std::string join_bundles(const std::vector<std::string>& bundles, api::Time now);

/// The CAs of all these bundles of which somebody may show a certificate while `stored` (null: nothing) is
/// what everybody shall show; the newest first. After half of its life everybody has had the time to move:
/// then those that are older than its own CA are left out. Newer ones are there when an older Secret was put
/// back.
std::string still_shown(const std::vector<std::string>& bundles, const ServingCertificate* stored,
                        api::Time now);

/// Puts it into a Secret, whatever that holds.
void store(const ServingCertificate& certificate, api::Json& secret);

/// PEM of the CAs whose clients may call; "" without a file, which lets everybody. A file without any is an
/// error: it must not turn the check off.
api::Result<std::string> read_client_ca(const std::string& file);

/// What its webhooks that call the service trust, each bundle once; PEM, "" where there is none.
std::vector<std::string> ca_bundles_of(const api::Json& configuration, const api::ObjectKey& service);

/// How many of a configuration's webhooks call the Service.
int count_webhooks(const api::Json& configuration, const api::ObjectKey& service);

/// What becomes of CAs that a webhook trusts besides.
enum class HeldAuthorities { keep, drop };

/// Gives the bundle to those webhooks that do not trust the same CAs; whether there were any. CAs that are
/// over make no difference: clocks differ.
bool fill_ca_bundle(api::Json& configuration, const api::ObjectKey& service, const std::string& ca_bundle,
                    HeldAuthorities held, api::Time now);

}  // namespace webhook
