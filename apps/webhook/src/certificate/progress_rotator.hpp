#pragma once
#include <atomic>
#include <chrono>
#include <string>

#include "certificate/progress_certificate.hpp"
#include "certificate/shared_secret.hpp"
#include "kube/client/clock.hpp"
#include "net/process/log.hpp"

namespace webhook {

/// --progress-cert-secret: stores the certificate for Pods in a Secret, and presents the stored one. All
/// replicas do the same; each write has the version that was read as its precondition. Thread rule: one
/// thread.
class ProgressCertificateRotator {
public:
    struct Options {
        api::ObjectKey secret = {};
        api::ObjectKey service = {};  ///< the certificate is for its names
        std::chrono::seconds lifetime = {};
        std::string instance = {};  ///< of SharedSecret
    };

    /// All arguments but the options must outlive it.
    ProgressCertificateRotator(kube::ApiServer& server, kube::Clock& clock, Options options, net::Tls& tls,
                               net::Log& log);

    /// Ends by cancellation only.
    net::Task<> run();

    /// Returns whether a stored certificate is presented. Any thread.
    bool in_use() const { return in_use_; }

private:
    using Wait = std::chrono::milliseconds;

    /// Reads the Secret, and renews or presents its certificate. Returns when to call it again.
    net::Async<Wait> look();
    void note(const api::Result<Wait>& outcome);

    kube::Clock& clock_;
    net::Tls& tls_;
    net::Log& log_;
    SharedSecret secret_;
    ProgressCertificateWishes wishes_;
    Wait interval_;
    std::string shown_ = {};
    std::atomic<bool> in_use_ = false;
    std::string error_ = {};
};

}  // namespace webhook
