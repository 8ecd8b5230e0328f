#include "certificate/admission_certificate.hpp"

#include "certificate/serving_certificate.hpp"

namespace webhook {

api::Result<AdmissionCertificate> AdmissionCertificate::open(const Settings& settings) {
    if (settings.self_signed) {
        auto tls = make_stand_in(settings.client_ca, settings.tls);
        if (!tls) return tls.error();
        return AdmissionCertificate(settings, std::move(*tls), std::nullopt);
    }
    auto files =
        net::TlsFileWatcher::open({settings.tls_cert, settings.tls_key, settings.client_ca}, settings.tls);
    if (!files) return files.error();
    auto tls = files->tls();
    return AdmissionCertificate(settings, std::move(tls), std::move(*files));
}

void AdmissionCertificate::keep(kube::Manager& manager, kube::ApiServer& server) {
    if (files_)
        return manager.start("watch of the certificate",
                             net::follow(*files_, certificate_poll_interval, manager.log()));
    CertificateRotator::Options options = {.secret = settings_->cert_secret,
                                           .service = settings_->service,
                                           .lifetime = settings_->cert_lifetime,
                                           .client_ca_file = settings_->client_ca,
                                           .instance = kube::new_identity()};
    rotator_ = std::make_unique<CertificateRotator>(server, manager.clock(), std::move(options), *tls_,
                                                    manager.log());
    manager.start("care of the certificate", rotator_->run());
}

}  // namespace webhook
