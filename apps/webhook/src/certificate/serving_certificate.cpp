#include "certificate/serving_certificate.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "api/base64.hpp"
#include "certificate/backdated.hpp"
#include "certificate/shared_secret.hpp"
#include "net/process/file.hpp"
#include "net/tls/certificate.hpp"

namespace webhook {
namespace {

using namespace std::chrono_literals;

// Regular rotations need two at a time; the others are for Secrets that are lost or restored.
constexpr std::size_t max_authorities = 8;

std::string decoded(const api::Json& data, std::string_view name) {
    auto text = api::from_base64(data[name].as_string());
    return text ? std::move(*text) : std::string();
}

struct Authority {
    std::string pem;
    api::Time not_before;
    api::Time not_after;
};

// Returns none for a broken text: no API server trusts by it.
std::vector<Authority> authorities_of(const std::string& bundle) {
    std::vector<Authority> found;
    const auto texts = net::split_certificates(bundle);
    if (!texts) return found;
    for (const std::string& text : *texts)
        if (const auto facts = net::certificate_fields(text))
            found.push_back({text, facts->not_before, facts->not_after});
    return found;
}

std::string first_authority(const std::string& bundle) {
    const auto authorities = authorities_of(bundle);
    return authorities.empty() ? "" : authorities.front().pem;
}

std::set<std::string> in_force(const std::string& bundle, api::Time now) {
    std::set<std::string> found;
    for (Authority& authority : authorities_of(bundle))
        if (authority.not_after > now) found.insert(std::move(authority.pem));
    return found;
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
    ServingCertificate certificate = {
        .identity = {.cert_pem = member_of(secret, "tls.crt"), .key_pem = member_of(secret, "tls.key")},
        .ca_bundle = member_of(secret, "ca.crt")};
    const auto facts = net::certificate_fields(certificate.identity.cert_pem);
    if (!facts) return facts.error();
    // Checks that certificate and key are valid and match.
    if (const auto tls = net::Tls::make(certificate.identity); !tls) return tls.error();
    for (const std::string& name : wishes.dns_names)
        if (std::ranges::find(facts->dns_names, name) == facts->dns_names.end())
            return api::invalid("", "the certificate is not for " + name);
    if (facts->not_after <= now) return api::invalid("", "the certificate is over");
    if (!net::is_issued_by(certificate.identity.cert_pem, certificate.ca_bundle))
        return api::invalid("", "the certificate is not of the CA in ca.crt");
    certificate.authority = first_authority(certificate.ca_bundle);
    if (in_force(certificate.authority, now).empty()) return api::invalid("", "the CA in ca.crt is over");
    certificate.not_before = facts->not_before;
    certificate.made_at = facts->not_before + backdated;
    certificate.not_after = facts->not_after;
    return certificate;
}

bool is_due(const ServingCertificate& certificate, api::Time now) {
    return now >= certificate.made_at + (certificate.not_after - certificate.made_at) * 2 / 3;
}

ServingCertificate make_serving_certificate(const std::string& former_bundle, const CertificateWishes& wishes,
                                            api::Time now) {
    const net::CertificateFields facts = {
        .not_before = now - backdated, .not_after = now + wishes.lifetime, .dns_names = wishes.dns_names};
    auto made = net::make_self_signed(facts);
    ServingCertificate certificate = {.identity = std::move(made.identity),
                                      .authority = std::move(made.ca_pem),
                                      .not_before = facts.not_before,
                                      .made_at = now,
                                      .not_after = facts.not_after};
    certificate.ca_bundle = join_bundles({certificate.authority, former_bundle}, now);
    return certificate;
}

std::string join_bundles(const std::vector<std::string>& bundles, api::Time now) {
    std::string joined;
    std::set<std::string> taken;
    for (const std::string& bundle : bundles) {
        for (const Authority& authority : authorities_of(bundle)) {
            if (taken.size() == max_authorities || authority.not_after <= now) continue;
            if (taken.insert(authority.pem).second) joined += authority.pem;
        }
    }
    return joined;
}

std::string still_shown(const std::vector<std::string>& bundles, const ServingCertificate* stored,
                        api::Time now) {
    std::vector<Authority> found;
    for (const std::string& bundle : bundles) std::ranges::move(authorities_of(bundle), back_inserter(found));
    const auto all_have_moved = [&] {
        return stored && now >= stored->made_at + (stored->not_after - stored->made_at) / 2;
    };
    if (all_have_moved())
        std::erase_if(found, [current = authorities_of(stored->authority)](const Authority& authority) {
            return !current.empty() && authority.not_before < current.front().not_before;
        });
    std::ranges::stable_sort(found, std::ranges::greater(), &Authority::not_before);
    std::string text;
    for (const Authority& authority : found) text += authority.pem;
    return text;
}

void store(const ServingCertificate& certificate, api::Json& secret) {
    set_member(secret, "tls.crt", certificate.identity.cert_pem);
    set_member(secret, "tls.key", certificate.identity.key_pem);
    set_member(secret, "ca.crt", certificate.ca_bundle);
}

api::Result<std::string> read_client_ca(const std::string& file) {
    if (file.empty()) return std::string();
    auto text = net::read_file(file);
    if (!text) return text.error();
    const char* remedy = ": put the CA certificates there, in PEM";
    if (text->empty()) return api::invalid("", file + " is empty" + remedy);
    if (const auto authorities = net::split_certificates(*text); !authorities)
        return api::invalid("", file + ": " + authorities.error().message + remedy);
    return text;
}

std::vector<std::string> ca_bundles_of(const api::Json& configuration, const api::ObjectKey& service) {
    std::vector<std::string> found;
    for (const api::Json& webhook : configuration["webhooks"].items()) {
        if (!calls(webhook, service)) continue;
        std::string bundle = decoded(webhook["clientConfig"], "caBundle");
        if (std::ranges::find(found, bundle) == found.end()) found.push_back(std::move(bundle));
    }
    return found;
}

int count_webhooks(const api::Json& configuration, const api::ObjectKey& service) {
    const auto& webhooks = configuration["webhooks"].items();
    return static_cast<int>(
        std::ranges::count_if(webhooks, [&](const api::Json& webhook) { return calls(webhook, service); }));
}

bool fill_ca_bundle(api::Json& configuration, const api::ObjectKey& service, const std::string& ca_bundle,
                    HeldAuthorities held, api::Time now) {
    bool changed = false;
    for (api::Json& webhook : configuration["webhooks"].items()) {
        if (!calls(webhook, service)) continue;
        const std::string found = decoded(webhook["clientConfig"], "caBundle");
        const std::string wanted =
            held == HeldAuthorities::keep ? join_bundles({ca_bundle, found}, now) : ca_bundle;
        if (in_force(found, now) == in_force(wanted, now)) continue;
        webhook["clientConfig"]["caBundle"] = api::to_base64(wanted);
        changed = true;
    }
    return changed;
}

api::Result<std::shared_ptr<net::Tls>> make_stand_in(const std::string& client_ca_file,
                                                     const net::TlsPolicy& policy) {
    auto client_ca = read_client_ca(client_ca_file);
    if (!client_ca) return client_ca.error();
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const net::CertificateFields facts = {
        .not_before = now - 1h, .not_after = now + 24h, .dns_names = {"not-ready.invalid"}};
    net::TlsIdentity identity = net::make_self_signed(facts).identity;
    identity.client_ca_pem = std::move(*client_ca);
    return net::Tls::make(identity, policy);
}

}  // namespace webhook
