#pragma once
#include <string>

#include "kube/client/clock.hpp"
#include "kube/client/config.hpp"
#include "kube/client/credential_plugin.hpp"
#include "net/client/http_client.hpp"

namespace kube {

/// The current certificates and tokens of a ClusterConfig. Its files may be replaced at any time. A plugin
/// runs when its credentials have expired.
class Credentials {
public:
    /// Maximum age of values read from files. The kubelet rotates the files hours before they expire.
    static constexpr std::chrono::seconds max_age{30};

    /// `plugins` is needed for a config with `exec` only.
    explicit Credentials(ClusterConfig config, ReadFile read = {}, PluginHost plugins = {});

    enum class Outcome { unchanged, token_changed, connection_changed };
    /// Reads the files if the last read is older than `max_age`, or at once with `now_please`. Fails if a
    /// file cannot be read, and names it; then the values read before stay in use.
    api::Result<Outcome> refresh(SteadyTime now, bool now_please = false);
    /// The same at once, after the API server has refused the credentials; runs the plugin as well.
    api::Result<Outcome> renew(SteadyTime now);

    /// Returns why there are no credentials to send: the plugin has failed, and its former credentials are no
    /// longer valid. A request without credentials would get a misleading answer.
    const std::optional<api::Error>& missing() const { return missing_; }

    /// "Bearer ..."; empty without a token. Never log it.
    const std::string& authorization() const { return authorization_; }
    /// The headers for another user; mostly none.
    const net::Headers& impersonation() const { return impersonation_; }
    /// Settings for a connection. Never log them.
    const net::ClientConfig& connection() const { return connection_; }
    const std::string& base_path() const { return config_.base_path; }

private:
    ClusterConfig config_;
    ReadFile read_;
    std::optional<CredentialPlugin> plugin_ = {};
    std::optional<api::Error> missing_ = {};
    net::Headers impersonation_;
    std::string authorization_;
    net::ClientConfig connection_;
    bool read_once_ = false;
    SteadyTime read_at_ = {};
};

}  // namespace kube
