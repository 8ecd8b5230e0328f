#pragma once
#include <memory>
#include <optional>

#include "kube/manager/manager.hpp"
#include "net/tls/tls.hpp"
#include "settings.hpp"

namespace reconciler {

/// The certificate that metrics are served with: that of files, or one that this process makes and that no
/// client can verify.
class MetricsCertificate {
public:
    /// Reads the files, or makes the certificate.
    static api::Result<MetricsCertificate> open(const Settings& settings);

    /// Starts the loop that reads the files again. The loop uses this object.
    void keep(kube::Manager& manager);

    const std::shared_ptr<net::Tls>& tls() const { return tls_; }

private:
    MetricsCertificate(std::shared_ptr<net::Tls> tls, std::optional<net::TlsFileWatcher> files)
        : tls_(std::move(tls)), files_(std::move(files)) {}

    std::shared_ptr<net::Tls> tls_;
    std::optional<net::TlsFileWatcher> files_;
};

}  // namespace reconciler
