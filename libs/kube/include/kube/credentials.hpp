#pragma once
#include <string>

#include "kube/clock.hpp"
#include "kube/config.hpp"
#include "net/http_client.hpp"

namespace kube {

/// Certificates and tokens that may be replaced on disk while we run: what they are now.
class Credentials {
public:
    /// How old what we read from files may get; kubelet rotates hours before expiry.
    static constexpr std::chrono::seconds max_age{30};

    explicit Credentials(ClusterConfig config, ReadFile read = {});

    enum class Outcome { unchanged, token_changed, connection_changed };
    /// Reads the files if the last look is older than `max_age`, or at once if `now_please`. A file that
    /// cannot be read is an error that names it; what was read before stays in use.
    api::Result<Outcome> refresh(SteadyTime now, bool now_please = false);

    /// "Bearer ..."; empty without a token. Never log it.
    const std::string& authorization() const { return authorization_; }
    /// To connect with; never log it.
    const net::ClientConfig& connection() const { return connection_; }
    const std::string& base_path() const { return config_.base_path; }

private:
    ClusterConfig config_;
    ReadFile read_;
    std::string authorization_;
    net::ClientConfig connection_;
    bool read_once_ = false;
    SteadyTime read_at_ = {};
};

}  // namespace kube
