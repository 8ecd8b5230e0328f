#pragma once
#include <chrono>
#include <functional>
#include <string_view>

#include "cluster/cluster.hpp"
#include "net/process/run_main.hpp"

namespace cli {

/// What a command works with.
struct Session {
    kube::ApiServer& server;
    kube::Clock& clock;
    std::string ns = {};  ///< of the options, else of the kubeconfig; never empty

    api::Time now() const { return std::chrono::floor<std::chrono::seconds>(clock.wall()); }
};

/// Connects to the cluster, and runs the coroutine that `body` returns until it ends. The session lives as
/// long. An error of `body` becomes one line of `err` with the name of the command, and status 1, or 2 if it
/// is `invalid` and no answer of the cluster. Fails if the kubeconfig cannot be used.
api::Result<net::Output> with_cluster(const ClusterSettings& settings, std::string_view command,
                                      const std::function<kube::Async<net::Output>(Session&)>& body);

/// Returns "kubectl trainjob COMMAND: text" as a line.
std::string remark(std::string_view command, std::string_view text);

/// Fails below 100 ms, for --interval: how often a command looks at the cluster.
api::Result<> check_interval(std::chrono::milliseconds interval);

/// Reads NAME or NAMESPACE/NAME. Fails if that namespace is not the one of --namespace.
api::Result<api::ObjectKey> key_of(const std::string& text, const ClusterSettings& settings,
                                   const std::string& ns);

}  // namespace cli
