#pragma once
#include <string>

#include "kube/client/clock.hpp"
#include "kube/client/config.hpp"
#include "net/client/http_client.hpp"

namespace kube {

/// The current certificates and tokens of a ClusterConfig, whose files may be replaced at any time.
class Credentials {
public:
    /// Maximum age of what was read from files. The kubelet rotates them hours before they expire.
    static constexpr std::chrono::seconds max_age{30};

    explicit Credentials(ClusterConfig config, ReadFile read = {});

    enum class Outcome { unchanged, token_changed, connection_changed };
    /// Reads the files if the last read is older than `max_age`, or at once with `now_please`. Fails if a
    /// file cannot be read, and names it; then the values read before stay in use.
    api::Result<Outcome> refresh(SteadyTime now, bool now_please = false);

    /// "Bearer ..."; empty without a token. Never log it.
    const std::string& authorization() const { return authorization_; }
    /// Settings for a connection. Never log them.
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
