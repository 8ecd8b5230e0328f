#include "certificate/rotator.hpp"

#include <algorithm>
#include <array>
#include <tuple>

namespace webhook {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr auto soon = 100ms;  // after a write: read the present state
constexpr auto after_conflict = 300ms;
// Calls may fail until then: an installation or a permission is missing.
constexpr milliseconds after_error = 2s;
// API servers read a changed configuration by a watch, normally within milliseconds.
constexpr milliseconds longest_settling = 10s;
constexpr milliseconds longest_interval = 30s;
constexpr milliseconds shortest = 1s;
// A replica that starts and finds everything in place for this time need not wait.
constexpr auto known_after = 1min;

// In a row, for one certificate: replicas agree on a bundle with fewer writes.
constexpr int written_too_often = 4;

struct Configuration {
    kube::Resource resource;
    std::string_view name;
};

// The names in manifests/base/webhook.
constexpr std::array configurations = {
    Configuration{{"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", false},
                  "validator.trainer.kubeflow.org"},
    Configuration{{"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", false},
                  "defaulter.trainer.kubeflow.org"}};

api::Error cannot(std::string what, api::Error error) {
    error.message = "cannot " + std::move(what) + ": " + error.message;
    return error;
}

bool same(const net::TlsIdentity& a, const net::TlsIdentity& b) {
    return std::tie(a.cert_pem, a.key_pem, a.client_ca_pem) ==
           std::tie(b.cert_pem, b.key_pem, b.client_ca_pem);
}

}  // namespace

CertificateRotator::CertificateRotator(kube::ApiServer& server, kube::Clock& clock, Options options,
                                       net::Tls& tls, net::Log& log)
    : server_(server),
      clock_(clock),
      options_(std::move(options)),
      tls_(tls),
      log_(log),
      secret_(server, options_.secret, options_.instance),
      wishes_{.dns_names = names_of_service(options_.service), .lifetime = options_.lifetime},
      interval_(std::clamp<milliseconds>(options_.lifetime / 20, shortest, longest_interval)),
      settling_(std::clamp<milliseconds>(options_.lifetime / 10, shortest, longest_settling)) {}

net::Task<> CertificateRotator::run() {
    for (;;) {
        const auto outcome = co_await rotate();
        note(outcome);
        co_await clock_.sleep_until(clock_.now() + (outcome ? *outcome : std::min(interval_, after_error)));
    }
}

net::Async<CertificateRotator::Wait> CertificateRotator::rotate() {
    const auto now = std::chrono::floor<std::chrono::seconds>(clock_.wall());
    // The configurations first: a replica stores a certificate before it writes the configurations. So the
    // Secret that is read then is at least as new as the configurations, and if another replica is even
    // faster, the write gets a conflict.
    std::vector<api::Json> found;
    for (const Configuration& wanted : configurations) {
        const api::ObjectKey key = {.name = std::string(wanted.name)};
        kube::Request request = kube::get(wanted.resource, key);
        auto configuration = co_await kube::fetch(server_, std::move(request));
        if (!configuration)
            co_return cannot("read " + to_string(wanted.resource) + " \"" + key.name + "\"",
                             configuration.error());
        if (count_webhooks(*configuration, options_.service) == 0)
            co_return api::invalid("", "no webhook of " + to_string(wanted.resource) + " \"" + key.name +
                                           "\" calls the service \"" + to_string(options_.service) +
                                           "\": check --service and the configuration");
        found.push_back(std::move(*configuration));
    }
    auto secret = co_await secret_.read();
    if (!secret) co_return secret.error();
    const api::Json& existing = *secret;
    auto stored = read_serving_certificate(existing, wishes_, now);
    if (!stored || is_due(*stored, now)) {
        const auto made =
            make_serving_certificate(former_bundle(stored ? &*stored : nullptr, now), wishes_, now);
        const auto written = co_await write_certificate(existing, made, "certificate made and stored");
        if (!written && written.error().code != api::Errc::conflict) co_return written.error();
        co_return written ? Wait(soon) : Wait(after_conflict);
    }
    // A Secret that was created again or restored lacks the CA of the presented certificate.
    if (const std::string bundle = bundle_with_presented_ca(*stored, now); bundle != stored->ca_bundle) {
        ServingCertificate completed = *stored;
        completed.ca_bundle = bundle;
        const auto written =
            co_await write_certificate(existing, completed, "CA of a former certificate stored");
        if (!written && written.error().code != api::Errc::conflict) co_return written.error();
        co_return written ? Wait(soon) : Wait(after_conflict);
    }

    const HeldAuthorities held =
        other_replicas_may_write(*stored) ? HeldAuthorities::keep : HeldAuthorities::drop;
    bool wrote = false;
    for (std::size_t i = 0; i < found.size(); ++i) {
        // An unchanged state is recognized without parsing.
        if (ca_bundles_of(found[i], options_.service) == std::vector{stored->ca_bundle}) continue;
        if (!fill_ca_bundle(found[i], options_.service, stored->ca_bundle, held, now)) continue;
        kube::Request fill = kube::replace(configurations[i].resource, found[i]);
        const auto filled = co_await server_.send(std::move(fill));
        if (!filled && filled.error().code == api::Errc::conflict) co_return Wait(after_conflict);
        if (!filled)
            co_return cannot("fill the CA bundle of " + to_string(configurations[i].resource),
                             filled.error());
        if (times_written_ < written_too_often)
            log_.info("CA bundle filled in", {{"configuration", configurations[i].name}});
        wrote = true;
    }
    if (wrote) co_return time_after_write(stored->identity.cert_pem);
    co_return use(*stored);
}

std::string CertificateRotator::former_bundle(const ServingCertificate* stored, api::Time now) const {
    std::vector<std::string> bundles;
    if (stored) bundles.push_back(stored->ca_bundle);
    if (used_) bundles.push_back(used_->ca_bundle);
    return join_bundles({used_ ? used_->authority : "", still_shown(bundles, stored, now)}, now);
}

std::string CertificateRotator::bundle_with_presented_ca(const ServingCertificate& stored,
                                                         api::Time now) const {
    if (!used_ || stored.ca_bundle.find(used_->authority) != std::string::npos) return stored.ca_bundle;
    std::string joined = join_bundles({stored.authority, used_->authority, stored.ca_bundle}, now);
    // The presented certificate may have expired.
    return joined.find(used_->authority) == std::string::npos ? stored.ca_bundle : joined;
}

// A CA that a configuration trusts and the Secret lacks is foreign, or another replica's, which writes it
// into the Secret in its next round.
bool CertificateRotator::other_replicas_may_write(const ServingCertificate& stored) {
    if (known_cert_ != stored.identity.cert_pem) {
        known_cert_ = stored.identity.cert_pem;
        known_since_ = clock_.now();
    }
    return clock_.now() < known_since_ + 2 * interval_;
}

net::Async<> CertificateRotator::write_certificate(api::Json secret, ServingCertificate made,
                                                   std::string_view what) {
    store(made, secret);
    const auto written = co_await secret_.write(std::move(secret));
    if (!written) co_return written.error();
    log_.info(what, {{"secret", options_.secret}, {"not_after", api::format_time(made.not_after)}});
    co_return api::Result<>();
}

// If the file is broken, the former one stays: a renewed certificate is used all the same.
api::Result<std::string> CertificateRotator::client_ca() {
    auto read = read_client_ca(options_.client_ca_file);
    const std::string error = read ? "" : api::describe(read.error());
    const bool has_changed = error != std::exchange(client_ca_error_, error);
    if (read) {
        if (has_changed) log_.info("the client CA file is usable again");
        client_ca_ = std::move(*read);
    } else if (client_ca_ && has_changed) {
        log_.error("the client CA file is not usable, the former CAs stay in use", {{"error", read.error()}});
    }
    if (!client_ca_) return read.error();
    return *client_ca_;
}

// API servers have to read a new certificate's CA first. All configurations contain it.
CertificateRotator::Wait CertificateRotator::time_until_shown(const ServingCertificate& certificate) {
    const auto now = clock_.now();
    const auto wall = clock_.wall();
    // Some replica's clock is wrong. That of this process is the best estimate of those of API servers.
    const bool is_early = used_ && wall < certificate.not_before && wall < used_->not_after;
    if (trusted_cert_ != certificate.identity.cert_pem) {
        trusted_cert_ = certificate.identity.cert_pem;
        trusted_since_ = now;
        if (is_early)
            log_.warn(
                "the stored certificate is not valid yet, the former one stays in use: check the clocks",
                {{"not_before", api::format_time(certificate.not_before)}});
    }
    if (is_early) return interval_;
    const bool long_known = !used_ && wall - certificate.made_at > known_after;
    const auto settled_at = trusted_since_ + settling_;
    if (long_known || settled_at <= now) return Wait(0);
    return std::chrono::ceil<milliseconds>(settled_at - now);
}

api::Result<CertificateRotator::Wait> CertificateRotator::use(const ServingCertificate& certificate) {
    if (clock_.now() >= written_at_ + 2 * interval_) times_written_ = 0;
    auto authorities = client_ca();
    if (!authorities) return authorities.error();
    const bool is_new = !used_ || used_->identity.cert_pem != certificate.identity.cert_pem;
    const Wait wait = is_new ? time_until_shown(certificate) : Wait(0);
    if (wait > Wait(0) && !used_) return wait;
    ServingCertificate shown = wait > Wait(0) ? *used_ : certificate;
    shown.identity.client_ca_pem = std::move(*authorities);
    if (!used_ || !same(used_->identity, shown.identity)) {
        if (auto replaced = tls_.replace(shown.identity); !replaced) return replaced.error();
        log_.info("certificate in use", {{"not_after", api::format_time(shown.not_after)}});
    }
    used_ = std::move(shown);
    return wait > Wait(0) ? wait : interval_;
}

// Waits longer and longer while another writer removes the CA that this process has written.
CertificateRotator::Wait CertificateRotator::time_after_write(const std::string& cert_pem) {
    const auto now = clock_.now();
    const bool again = written_cert_ == cert_pem && now < written_at_ + 2 * interval_;
    times_written_ = again ? times_written_ + 1 : 1;
    written_cert_ = cert_pem;
    written_at_ = now;
    // For API servers that have read it, and then the configuration without it.
    trusted_cert_.clear();
    if (times_written_ == written_too_often)
        log_.warn("another writer keeps changing the CA bundle; filling it in more slowly",
                  {{"service", options_.service}});
    return std::min<Wait>(soon * (1 << std::min(times_written_ - 1, 10)), interval_);
}

void CertificateRotator::note(const api::Result<Wait>& outcome) {
    const std::string error = outcome ? "" : api::describe(outcome.error());
    if (error == std::exchange(error_, error)) return;
    if (outcome)
        log_.info("the certificate is taken care of again");
    else
        log_.warn("cannot take care of the certificate; trying again", {{"error", outcome.error()}});
}

}  // namespace webhook
