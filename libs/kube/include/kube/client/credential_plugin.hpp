#pragma once
#include <functional>
#include <optional>
#include <string>

#include "kube/client/clock.hpp"
#include "kube/client/exec_credential.hpp"

namespace kube {

/// The functions of a program that can run the plugins of a kubeconfig. Servers have none.
struct PluginHost {
    /// Runs the plugin with `info` as KUBERNETES_EXEC_INFO and returns its output. Blocks. Fails with
    /// `not_found` if there is no such command. Errors complete a sentence that begins with the command.
    std::function<api::Result<std::string>(const ExecPlugin& plugin, const std::string& info,
                                           bool interactive)>
        run = {};
    bool terminal = false;  ///< standard input is a terminal, and free for plugins
    std::function<MicroTime()> wall = {};
};

/// A plugin and its latest credentials. It runs only when credentials are needed.
class CredentialPlugin {
public:
    CredentialPlugin(ExecPlugin plugin, PluginHost host)
        : plugin_(std::move(plugin)), host_(std::move(host)) {}

    /// Returns whether there are no credentials to use: none yet, expired, or rejected.
    bool due() const;
    /// Runs the plugin, however long that takes. Fails with `invalid`, and names the command; then there are
    /// no credentials.
    api::Result<> run(std::string_view ca_pem);
    /// Discards the credentials, which the API server has refused.
    void reject() { current_.reset(); }

    /// Returns the credentials of the last run, perhaps expired; empty without one. Never log them.
    const ExecCredential& current() const;

private:
    api::Error blame(const api::Error& error) const;

    ExecPlugin plugin_;
    PluginHost host_;
    std::optional<ExecCredential> current_ = {};
};

}  // namespace kube
