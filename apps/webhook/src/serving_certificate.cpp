#include "serving_certificate.hpp"

#include <algorithm>

#include "api/base64.hpp"
#include "net/file.hpp"
#include "net/self_signed.hpp"

namespace webhook {
namespace {

using namespace std::chrono_literals;

// For clocks that are behind ours.
constexpr auto backdated = 1h;
// Two rotations in a row, and the one before them.
constexpr std::size_t max_authorities = 3;

std::string decoded(const api::Json& data, std::string_view name) {
    auto text = api::from_base64(data[name].as_string());
    return text ? std::move(*text) : std::string();
}

bool calls(const api::Json& webhook, const api::ObjectKey& service) {
    const api::Json& named = webhook["clientConfig"]["service"];
    return named["name"].as_string() == service.name && named["namespace"].as_string() == service.ns;
}

}  // namespace

std::vector<std::string> names_of_service(const api::ObjectKey& service) {
    const std::string name = service.name + "." + service.ns + ".svc";
    return {name, name + ".cluster.local"};
}

api::Result<ServingCertificate> read_serving_certificate(const api::Json& secret,
                                                         const CertificateWishes& wishes, api::Time now) {
    const api::Json& data = secret["data"];
    ServingCertificate certificate = {
        .identity = {.cert_pem = decoded(data, "tls.crt"), .key_pem = decoded(data, "tls.key")},
        .ca_bundle = decoded(data, "ca.crt")};
    const auto facts = net::certificate_facts(certificate.identity.cert_pem);
    if (!facts) return facts.error();
    // Says whether certificate and key are whole, and belong together.
    if (const auto tls = net::Tls::make(certificate.identity); !tls) return tls.error();
    for (const std::string& name : wishes.dns_names)
        if (std::ranges::find(facts->dns_names, name) == facts->dns_names.end())
            return api::invalid("", "the certificate is not for " + name);
    if (facts->not_after <= now) return api::invalid("", "the certificate is over");
    if (!net::is_issued_by(certificate.identity.cert_pem, certificate.ca_bundle))
        return api::invalid("", "the certificate is not of the CA in ca.crt");
    certificate.made_at = facts->not_before + backdated;
    certificate.not_after = facts->not_after;
    return certificate;
}

bool is_due(const ServingCertificate& certificate, api::Time now) {
    return now >= certificate.made_at + (certificate.not_after - certificate.made_at) * 2 / 3;
}

ServingCertificate make_serving_certificate(const std::string& former_bundle, const CertificateWishes& wishes,
                                            api::Time now) {
    const net::CertificateFacts facts = {
        .not_before = now - backdated, .not_after = now + wishes.lifetime, .dns_names = wishes.dns_names};
    auto made = net::make_self_signed(facts);
    ServingCertificate certificate = {.identity = std::move(made.identity),
                                      .ca_bundle = std::move(made.ca_pem),
                                      .made_at = now,
                                      .not_after = facts.not_after};
    std::size_t authorities = 1;
    const auto former = net::split_certificates(former_bundle);
    if (!former) return certificate;
    for (const std::string& authority : *former) {
        const auto says = net::certificate_facts(authority);
        const bool over = !says || says->not_after <= now;
        if (over || authorities == max_authorities) continue;
        certificate.ca_bundle += authority;
        ++authorities;
    }
    return certificate;
}

void store(const ServingCertificate& certificate, api::Json& secret) {
    api::Json& data = secret["data"];
    if (!data.is_object()) data = api::Json::object();
    data["tls.crt"] = api::to_base64(certificate.identity.cert_pem);
    data["tls.key"] = api::to_base64(certificate.identity.key_pem);
    data["ca.crt"] = api::to_base64(certificate.ca_bundle);
}

api::Json new_secret(const api::ObjectKey& key, const ServingCertificate& certificate) {
    api::Json secret = api::Json::object({
        {"apiVersion", "v1"},
        {"kind", "Secret"},
        {"type", "kubernetes.io/tls"},
        {"metadata",
         api::Json::object({{"name", key.name},
                            {"namespace", key.ns},
                            {"labels", api::Json::object({{"app.kubernetes.io/part-of", "signalbox"}})}})},
    });
    store(certificate, secret);
    return secret;
}

api::Result<std::string> read_client_ca(const std::string& file) {
    if (file.empty()) return std::string();
    auto text = net::read_file(file);
    if (text && text->empty()) return api::invalid("", file + " is empty");
    return text;
}

std::string ca_bundle_of(const api::Json& configuration, const api::ObjectKey& service) {
    for (const api::Json& webhook : configuration["webhooks"].items())
        if (calls(webhook, service))
            if (std::string bundle = decoded(webhook["clientConfig"], "caBundle"); !bundle.empty())
                return bundle;
    return "";
}

int count_webhooks(const api::Json& configuration, const api::ObjectKey& service) {
    const auto& webhooks = configuration["webhooks"].items();
    return static_cast<int>(
        std::ranges::count_if(webhooks, [&](const api::Json& webhook) { return calls(webhook, service); }));
}

bool fill_ca_bundle(api::Json& configuration, const api::ObjectKey& service, const std::string& ca_bundle) {
    const std::string text = api::to_base64(ca_bundle);
    bool changed = false;
    for (api::Json& webhook : configuration["webhooks"].items()) {
        if (!calls(webhook, service)) continue;
        api::Json& current = webhook["clientConfig"]["caBundle"];
        if (current.as_string() == text) continue;
        current = text;
        changed = true;
    }
    return changed;
}

}  // namespace webhook
