#pragma once
#include <chrono>
#include <string>

#include "admission/reviews.hpp"
#include "kube/client/namespaces.hpp"
#include "kube/client/token_authenticator.hpp"
#include "kube/manager/manager.hpp"
#include "kube/manager/metrics_options.hpp"
#include "net/process/option_types.hpp"
#include "net/process/options.hpp"
#include "net/server/http_server.hpp"
#include "net/tls/tls_policy.hpp"
#include "runtime/gates.hpp"
#include "runtime/pipeline.hpp"
#include "settings/progress_settings.hpp"

namespace webhook {

/// Time between two reads of certificate files.
inline constexpr std::chrono::seconds certificate_poll_interval{5};

/// The settings of the command line and the configuration file.
struct Settings {
    std::string kubeconfig = {};  ///< empty: the pod's service account
    kube::Namespaces namespaces = {};
    Services services = {};
    ProgressSettings progress = {};  ///< only if it is started
    net::HostPort listen{"::", 9443};
    std::string tls_cert = {};
    std::string tls_key = {};
    bool self_signed = false;
    api::ObjectKey cert_secret = {};  ///< with self_signed only, like the next
    api::ObjectKey service = {};
    std::chrono::seconds cert_lifetime{90 * 24 * 3600};
    std::string client_ca = {};       ///< empty: clients need no certificate
    std::string token_audience = {};  ///< empty: clients need no token
    std::string token_users = {};     ///< comma-separated; empty: all users with a token
    net::TlsPolicy tls = {};          ///< of all servers
    net::HostPort admin_listen{"::", 8080};
    kube::MetricsSettings metrics = {};
    int threads = 1;
    /// Of the whole process; see share(). Enough for five API servers. With it the process stays below the
    /// memory limit of the Deployment in manifests/base.
    net::ServerLimits limits = {
        .total_bytes = 32 * 1024 * 1024, .max_connections = 512, .connections_per_source = 100};
    /// The time from SIGTERM on until Services and load balancers have noticed that the process is not ready.
    std::chrono::milliseconds shutdown_delay{5'000};
    std::string lossy_clients = "system:serviceaccount:kueue-system:kueue-controller-manager";
    bool keeps_runtimes_in_use = false;
    net::FeatureGates feature_gates = {};
    runtime::DeviceTable accelerators = {};
    runtime::GangSchedulers gang_schedulers = {};
    net::LogLevel log_level = net::LogLevel::info;
    net::LogFormat log_format = net::LogFormat::json;
};

/// Returns the defaults; as many threads as this process has cores.
Settings default_settings();

/// Adds the options; `settings` must outlive `options`.
void add_options(net::Options& options, Settings& settings);

/// The time for which permits to connect are saved up.
inline constexpr std::chrono::seconds source_pause{5};

/// Returns the limits of one of `threads` threads, so that together they keep the limits of the process; at
/// least room for one body. The kernel does not spread connections evenly, so a source may open as many
/// connections at once on each thread as ServerLimits has, at least.
net::ServerLimits share(const net::ServerLimits& limits, int threads);

/// Returns the policy for callers.
kube::AuthPolicy auth_policy(const Settings& settings);

/// Returns the policy for reviews. Call check() before.
admission::ReviewPolicy review_policy(const Settings& settings);

/// Returns the options of the manager. Its shutdown limits do not include shutdown_delay.
kube::ManagerOptions manager_options(const Settings& settings);

/// Checks combinations that the types of the options cannot exclude.
api::Result<> check(const Settings& settings);

}  // namespace webhook
