#include "certificate/progress_certificate.hpp"

#include <algorithm>
#include <iterator>
#include <span>

#include "certificate/backdated.hpp"
#include "certificate/shared_secret.hpp"

namespace webhook {
namespace {

// Returns the PEM blocks of a text that contains only private keys.
std::vector<std::string> split_keys(std::string_view text) {
    constexpr std::string_view end = "PRIVATE KEY-----\n";
    std::vector<std::string> keys;
    while (keys.size() < ProgressCertificate::most_authorities) {
        // A PEM block's second line of hyphens: its end.
        const auto first = text.find(end);
        const auto second = first == text.npos ? text.npos : text.find(end, first + end.size());
        if (second == text.npos) break;
        keys.emplace_back(text.substr(0, second + end.size()));
        text.remove_prefix(second + end.size());
    }
    return keys;
}

api::Time start_of(const net::Authority& authority) {
    return net::certificate_fields(authority.cert_pem).value().not_before;
}

api::Time end_of(const net::Authority& authority) {
    return net::certificate_fields(authority.cert_pem).value().not_after;
}

std::vector<net::Authority> read_authorities(const api::Json& secret, api::Time now) {
    std::vector<net::Authority> found;
    const auto certificates = net::split_certificates(member_of(secret, "ca.crt"));
    if (!certificates) return found;
    const auto keys = split_keys(member_of(secret, "ca.key"));
    const std::size_t count = std::min(certificates->size(), ProgressCertificate::most_authorities);
    for (const std::string& certificate : std::span(*certificates).first(count)) {
        const auto facts = net::certificate_fields(certificate);
        const auto key = std::ranges::find_if(
            keys, [&](const std::string& each) { return net::is_key_of(each, certificate); });
        if (facts && facts->not_after > now && key != keys.end()) found.push_back({certificate, *key});
    }
    std::ranges::stable_sort(found, {}, start_of);
    return found;
}

bool is_good(const net::TlsIdentity& identity, const net::CertificateFields& facts,
             const std::vector<net::Authority>& authorities, const ProgressCertificateWishes& wishes,
             api::Time now) {
    const auto names_it = [&](const std::string& name) {
        return std::ranges::find(facts.dns_names, name) != facts.dns_names.end();
    };
    const auto issued_it = [&](const net::Authority& authority) {
        return net::is_issued_by(identity.cert_pem, authority.cert_pem);
    };
    return facts.not_after > now && std::ranges::all_of(wishes.dns_names, names_it) &&
           std::ranges::any_of(authorities, issued_it) && net::Tls::make(identity);
}

net::Authority new_authority(api::Time now) {
    return net::make_authority("signalbox-progress-ca-" + std::to_string(now.time_since_epoch().count()),
                               {.not_before = now - backdated,
                                .not_after = now + ProgressCertificate::authority_lifetime,
                                .dns_names = {}});
}

bool is_due(const ProgressCertificate& certificate, api::Time now) {
    if (certificate.identity.cert_pem.empty()) return true;
    const auto facts = net::certificate_fields(certificate.identity.cert_pem).value();
    const api::Time made_at = facts.not_before + backdated;
    return now >= made_at + (facts.not_after - made_at) * 2 / 3;
}

// Returns the newest CA that Pods have had the time to read; else the oldest one.
const net::Authority& issuer_of(const std::vector<net::Authority>& authorities, api::Time now) {
    const auto known_since = now - backdated - ProgressCertificate::trusted_before_use;
    const auto found =
        std::find_if(authorities.rbegin(), authorities.rend(),
                     [&](const net::Authority& each) { return start_of(each) <= known_since; });
    return found == authorities.rend() ? authorities.front() : *found;
}

}  // namespace

ProgressCertificate read_progress_certificate(const api::Json& secret,
                                              const ProgressCertificateWishes& wishes, api::Time now) {
    ProgressCertificate certificate = {.authorities = read_authorities(secret, now)};
    const net::TlsIdentity identity = {.cert_pem = member_of(secret, "tls.crt"),
                                       .key_pem = member_of(secret, "tls.key")};
    const auto facts = net::certificate_fields(identity.cert_pem);
    if (!facts || !is_good(identity, *facts, certificate.authorities, wishes, now)) return certificate;
    certificate.identity = identity;
    certificate.not_after = facts->not_after;
    return certificate;
}

std::optional<ProgressCertificate> renewed(const ProgressCertificate& stored,
                                           const ProgressCertificateWishes& wishes, api::Time now) {
    auto authorities = stored.authorities;
    if (authorities.empty() || end_of(authorities.back()) - now <= ProgressCertificate::joins_before_end)
        authorities.push_back(new_authority(now));
    const bool due = is_due(stored, now);
    if (!due && authorities == stored.authorities) return std::nullopt;
    ProgressCertificate made = stored;
    made.authorities = std::move(authorities);
    if (!due) return made;
    const net::Authority& issuer = issuer_of(made.authorities, now);
    made.not_after = std::min<api::Time>(now + wishes.lifetime, end_of(issuer));
    made.identity = net::issue_certificate(
        issuer, "signalbox-progress",
        {.not_before = now - backdated, .not_after = made.not_after, .dns_names = wishes.dns_names});
    return made;
}

void store(const ProgressCertificate& certificate, api::Json& secret) {
    std::string bundle;
    std::string keys;
    for (const net::Authority& authority : certificate.authorities) {
        bundle += authority.cert_pem;
        keys += authority.key_pem;
    }
    set_member(secret, "tls.crt", certificate.identity.cert_pem);
    set_member(secret, "tls.key", certificate.identity.key_pem);
    set_member(secret, "ca.crt", bundle);
    set_member(secret, "ca.key", keys);
}

}  // namespace webhook
