#pragma once
#include <memory>
#include <optional>

#include "certificate/rotator.hpp"
#include "kube/manager/manager.hpp"
#include "net/tls/tls.hpp"
#include "settings/settings.hpp"

namespace webhook {

/// The certificate that reviews are served with: that of files, or with --self-signed one of the process
/// itself.
class AdmissionCertificate {
public:
    /// Reads the files. Without files, makes a stand-in, which API servers do not trust. `settings` must
    /// outlive the certificate.
    static api::Result<AdmissionCertificate> open(const Settings& settings);

    /// Starts the loop that keeps the certificate valid. The loop uses this object and `server`.
    void keep(kube::Manager& manager, kube::ApiServer& server);

    const std::shared_ptr<net::Tls>& tls() const { return tls_; }
    /// Whether API servers trust it, as far as the process itself takes care of that.
    bool is_trusted() const { return !rotator_ || rotator_->in_use(); }

private:
    AdmissionCertificate(const Settings& settings, std::shared_ptr<net::Tls> tls,
                         std::optional<net::TlsFileWatcher> files)
        : settings_(&settings), tls_(std::move(tls)), files_(std::move(files)) {}

    const Settings* settings_;
    std::shared_ptr<net::Tls> tls_;
    std::optional<net::TlsFileWatcher> files_;
    std::unique_ptr<CertificateRotator> rotator_ = {};
};

}  // namespace webhook
