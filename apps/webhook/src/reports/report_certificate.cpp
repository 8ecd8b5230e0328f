#include "reports/report_certificate.hpp"

#include "certificate/serving_certificate.hpp"

namespace webhook {

api::Result<> ReportCertificate::open(kube::ApiServer& server) {
    const ProgressSettings& progress = settings_.progress;
    if (progress.cert_secret.name.empty()) {
        auto files = net::TlsFileWatcher::open({progress.tls_cert, progress.tls_key, {}}, settings_.tls);
        if (!files) return files.error();
        files_.emplace(std::move(*files));
        tls_ = files_->tls();
        return {};
    }
    auto tls = make_stand_in({}, settings_.tls);
    if (!tls) return tls.error();
    tls_ = std::move(*tls);
    ProgressCertificateRotator::Options options = {.secret = progress.cert_secret,
                                                   .service = progress.service,
                                                   .lifetime = settings_.cert_lifetime,
                                                   .instance = kube::new_identity()};
    rotator_.emplace(server, clock_, std::move(options), *tls_, log_);
    return {};
}

void ReportCertificate::keep(const std::function<void(const char* name, net::Task<> loop)>& start) {
    if (rotator_)
        start("care of the certificate for progress", rotator_->run());
    else
        start("watch of the certificate for progress", net::follow(*files_, certificate_poll_interval, log_));
}

}  // namespace webhook
