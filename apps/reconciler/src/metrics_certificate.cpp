#include "metrics_certificate.hpp"

#include "net/tls/certificate.hpp"

namespace reconciler {
namespace {

using namespace std::chrono_literals;

constexpr auto poll_interval = 5s;
// Longer than any process lives: nobody verifies it.
constexpr auto lifetime = std::chrono::years(10);

}  // namespace

api::Result<MetricsCertificate> MetricsCertificate::open(const Settings& settings) {
    if (!settings.metrics_cert.empty()) {
        auto files =
            net::TlsFileWatcher::open({settings.metrics_cert, settings.metrics_key, {}}, settings.tls);
        if (!files) return files.error();
        auto tls = files->tls();
        return MetricsCertificate(std::move(tls), std::move(*files));
    }
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    // Clocks of clients differ.
    const net::CertificateFields fields = {
        .not_before = now - 1h, .not_after = now + lifetime, .dns_names = {"localhost"}};
    const net::Authority authority = net::make_authority("signalbox-reconciler-ca", fields);
    auto tls =
        net::Tls::make(net::issue_certificate(authority, "signalbox-reconciler", fields), settings.tls);
    if (!tls) return tls.error();
    return MetricsCertificate(std::move(*tls), std::nullopt);
}

void MetricsCertificate::keep(kube::Manager& manager) {
    if (files_)
        manager.start("watch of the certificate for metrics",
                      net::follow(*files_, poll_interval, manager.log()));
}

}  // namespace reconciler
