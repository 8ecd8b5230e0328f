#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "certificate/progress_rotator.hpp"
#include "net/tls/tls.hpp"
#include "settings/settings.hpp"

namespace webhook {

/// The certificate that reports of progress are served with: that of files, or with --progress-cert-secret
/// one that is made and kept in a Secret. Thread rule: one thread for open(), keep() and the loop; after
/// open(), any thread for the others.
class ReportCertificate {
public:
    /// All arguments must outlive it.
    ReportCertificate(const Settings& settings, kube::Clock& clock, net::Log& log)
        : settings_(settings), clock_(clock), log_(log) {}

    /// Reads the files. Without files, makes a stand-in, which Pods do not trust. `server` must outlive it.
    api::Result<> open(kube::ApiServer& server);

    /// Passes the loop that keeps the certificate valid, with its name. The loop uses this object.
    void keep(const std::function<void(const char* name, net::Task<> loop)>& start);

    const std::shared_ptr<net::Tls>& tls() const { return tls_; }
    api::Time ends() const { return tls_->not_after(); }
    bool is_valid() const { return ends() > clock_.wall(); }
    /// Returns whether Pods can trust it: a stand-in is presented until one is stored.
    bool is_stored() const { return !rotator_ || rotator_->in_use(); }

private:
    const Settings& settings_;
    kube::Clock& clock_;
    net::Log& log_;
    std::shared_ptr<net::Tls> tls_ = {};
    std::optional<net::TlsFileWatcher> files_ = {};
    std::optional<ProgressCertificateRotator> rotator_ = {};  // or the files
};

}  // namespace webhook
