#pragma once
#include <chrono>
#include <functional>
#include <string_view>

#include "cluster/cluster.hpp"
#include "text/text.hpp"

namespace cli {

/// The connection of a command to its cluster.
struct Session {
    kube::ApiServer& server;
    kube::ServerClock& clock;
    std::string ns = {};  ///< from the options or the kubeconfig; never empty

    /// The time by the API server's clock, once it has answered.
    api::Time now() const { return std::chrono::floor<std::chrono::seconds>(clock.wall()); }
};

/// Connects to the cluster, and runs the coroutine of `body` to its end. The session lives as long. An error
/// of `body` becomes one line of `err` with the name of the command, and status 1, or 2 if it is `invalid`
/// and not from the cluster. Fails if the kubeconfig cannot be used.
api::Result<Output> with_cluster(const ClusterSettings& settings, std::string_view command,
                                 const std::function<kube::Async<Output>(Session&)>& body);

/// Returns "kubectl trainjob COMMAND: text" as a line.
Text log_line(std::string_view command, std::string_view text);

/// Checks --interval: fails below 100 ms.
api::Result<> check_interval(std::chrono::milliseconds interval);

/// Reads NAME, NAMESPACE/NAME, or trainjob.trainer.kubeflow.org/NAME. Fails if that namespace is not the one
/// of --namespace.
api::Result<api::ObjectKey> key_of(const std::string& text, const ClusterSettings& settings,
                                   const std::string& ns);

}  // namespace cli
