#pragma once
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "api/json.hpp"
#include "api/object_key.hpp"
#include "api/time.hpp"
#include "net/tls/tls.hpp"

namespace webhook {

/// The contents of a certificate that this program makes.
struct CertificateWishes {
    std::vector<std::string> dns_names = {};
    std::chrono::seconds lifetime = {};
};

/// Returns the names under which API servers call a Service.
std::vector<std::string> names_of_service(const api::ObjectKey& service);

/// A serving certificate as it is stored in a Secret, with the CAs that its clients trust. Pure, except for
/// the generation of keys.
struct ServingCertificate {
    net::TlsIdentity identity = {};
    std::string ca_bundle = {};  ///< PEM; the CA of this certificate first, then former ones
    std::string authority = {};  ///< PEM; the first of these
    api::Time not_before = {};   ///< earlier than `made_at`, as clocks differ
    api::Time made_at = {};
    api::Time not_after = {};
};

/// Reads a Secret in the format of cert-manager: tls.crt, tls.key, ca.crt. Fails if it is broken, for other
/// names, expired, or not issued by the first CA.
api::Result<ServingCertificate> read_serving_certificate(const api::Json& secret,
                                                         const CertificateWishes& wishes, api::Time now);

/// Returns when to renew it: after two thirds of its lifetime, so that there is time for retries.
bool is_due(const ServingCertificate& certificate, api::Time now);

/// Makes a new one, with a CA of its own. Those of `former_bundle` stay trusted, as in join_bundles(): other
/// replicas present their certificates for a while.
ServingCertificate make_serving_certificate(const std::string& former_bundle, const CertificateWishes& wishes,
                                            api::Time now);

/// Returns the CAs of all these bundles in their order, without duplicates and expired ones, at most the
/// first 8.
std::string join_bundles(const std::vector<std::string>& bundles, api::Time now);

/// Returns the CAs of all these bundles whose certificates a replica may present while `stored` (null:
/// nothing) is the one that all should present; the newest first. After half of its lifetime all replicas
/// have had the time to change, so CAs older than its own are omitted then. There are newer ones if an older
/// Secret was restored.
std::string still_shown(const std::vector<std::string>& bundles, const ServingCertificate* stored,
                        api::Time now);

/// Writes it into a Secret with any content.
void store(const ServingCertificate& certificate, api::Json& secret);

/// Returns PEM of the CAs whose clients may call; "" without a file, which admits all clients. A file without
/// a CA is an error: it must not disable the check.
api::Result<std::string> read_client_ca(const std::string& file);

/// Returns the distinct bundles of the configuration's webhooks that call the service; PEM, "" for none.
std::vector<std::string> ca_bundles_of(const api::Json& configuration, const api::ObjectKey& service);

/// Returns the number of a configuration's webhooks that call the Service.
int count_webhooks(const api::Json& configuration, const api::ObjectKey& service);

/// What to do with other CAs that a webhook trusts.
enum class HeldAuthorities { keep, drop };

/// Writes the bundle into webhooks that do not trust the same CAs. Returns whether there were any. Expired
/// CAs do not matter, since clocks differ.
bool fill_ca_bundle(api::Json& configuration, const api::ObjectKey& service, const std::string& ca_bundle,
                    HeldAuthorities held, api::Time now);

/// Makes a certificate that is presented until the real one is in use; the process is not ready until then.
/// Clients need certificates meanwhile if `client_ca_file` is not empty.
api::Result<std::shared_ptr<net::Tls>> make_stand_in(const std::string& client_ca_file,
                                                     const net::TlsPolicy& policy);

}  // namespace webhook
