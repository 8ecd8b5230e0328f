#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "kube/client/api_server.hpp"
#include "kube/client/config.hpp"
#include "kube/client/kubeconfig.hpp"
#include "kube/client/server_clock.hpp"
#include "net/process/options.hpp"

/// Selects the cluster and the user of a command, with kubectl's options.
namespace cli {

/// The time limit of one request. Written as a duration, or as a number of seconds; 0: no limit.
struct RequestTimeout {
    std::chrono::milliseconds time{30'000};
};
api::Result<> read_option(std::string_view text, RequestTimeout& target);
std::string show_option(RequestTimeout value);

struct ClusterSettings : kube::KubeconfigChoice {
    std::string kubeconfig = {};
    RequestTimeout request_timeout = {};
};

/// `settings` must outlive the options.
void add_options(net::Options& options, ClusterSettings& settings);

/// Finds the cluster and the user as kubectl does: the file of --kubeconfig, or those that KUBECONFIG lists,
/// or ~/.kube/config; where these name none, the service account of this Pod. `ns` of the result is never
/// empty. Errors are `invalid` or those of reading a file.
api::Result<kube::ClusterConfig> find_cluster(const ClusterSettings& settings);
/// The same, for tests.
api::Result<kube::ClusterConfig> find_cluster(const ClusterSettings& settings, const kube::ReadEnv& env,
                                              const kube::ReadFile& read);

/// Returns the names in a list of the same files: "contexts", "clusters" or "users". Skips what cannot be
/// read.
std::vector<std::string> kubeconfig_names(const ClusterSettings& settings, const std::string& list);
/// The same, for tests.
std::vector<std::string> kubeconfig_names(const ClusterSettings& settings, const std::string& list,
                                          const kube::ReadEnv& env, const kube::ReadFile& read);

/// Makes the client, whose answers set the clock. It runs the kubeconfig's credential plugin, here for the
/// first time.
api::Result<std::unique_ptr<kube::ApiServer>> connect(boost::asio::any_io_executor executor,
                                                      kube::ServerClock& clock, kube::ClusterConfig config,
                                                      const ClusterSettings& settings);

/// Returns the proxy for HTTPS that the environment names for this host, as kubectl reads it: $HTTPS_PROXY or
/// $https_proxy, except for hosts of $NO_PROXY or $no_proxy (names with their subdomains, addresses,
/// networks, with or without a port, and *), and for this machine. A URL; empty: none.
std::string proxy_of_variables(const std::string& host, const std::string& port, const kube::ReadEnv& env);

}  // namespace cli
