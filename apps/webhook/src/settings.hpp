#pragma once
#include <chrono>
#include <string>

#include "admission/reviews.hpp"
#include "admission/token_authenticator.hpp"
#include "kube/client/namespaces.hpp"
#include "kube/manager/manager.hpp"
#include "net/process/option_types.hpp"
#include "net/process/options.hpp"
#include "net/server/http_server.hpp"
#include "progress_settings.hpp"
#include "runtime/gates.hpp"
#include "runtime/pipeline.hpp"

namespace webhook {

/// Time between two reads of certificate files.
inline constexpr std::chrono::seconds certificate_poll_interval{5};

/// What the command line and the configuration file say.
struct Settings {
    std::string kubeconfig = {};  ///< empty = the pod's service account
    kube::Namespaces namespaces = {};
    Services services = {};
    ProgressSettings progress = {};  ///< only if that is served
    net::HostPort listen{"0.0.0.0", 9443};
    std::string tls_cert = {};
    std::string tls_key = {};
    bool self_signed = false;
    api::ObjectKey cert_secret = {};  ///< with self_signed only, like the next
    api::ObjectKey service = {};
    std::chrono::seconds cert_lifetime{90 * 24 * 3600};
    std::string client_ca = {};       ///< empty = clients need no certificate
    std::string token_audience = {};  ///< empty = clients need no token
    std::string token_users = {};     ///< comma-separated; empty = all that have one
    net::HostPort admin_listen{"0.0.0.0", 8080};
    int threads = 1;
    /// Of the whole process; see share(). Enough for five API servers; with it the process stays below the
    /// limit of our Deployment.
    net::ServerLimits limits = {
        .total_bytes = 32 * 1024 * 1024, .max_connections = 512, .connections_per_source = 100};
    /// From SIGTERM on, while Services and load balancers learn that we are not ready.
    std::chrono::milliseconds shutdown_delay{5'000};
    std::string lossy_clients = "system:serviceaccount:kueue-system:kueue-controller-manager";
    std::string kueue_types = "2.2";
    net::FeatureGates feature_gates = {};
    net::LogLevel log_level = net::LogLevel::info;
    net::LogFormat log_format = net::LogFormat::json;
};

/// What is used where nobody says otherwise; as many threads as this process has cores.
Settings default_settings();

/// The table of options; `settings` must outlive it.
void add_options(net::Options& options, Settings& settings);

/// Permits to connect are saved up for so long.
inline constexpr std::chrono::seconds source_pause{5};

/// What one of so many threads grants, so that all of them together keep to the limits; room for one body at
/// least. The kernel does not spread connections evenly: so many at once as ServerLimits has, at least.
net::ServerLimits share(const net::ServerLimits& limits, int threads);

/// Who may call.
admission::AuthPolicy auth_policy(const Settings& settings);

/// What reviews depend on. Needs settings that check() passes.
admission::ReviewPolicy review_policy(const Settings& settings);

/// The options of the process. The time to go on serving is no part of the limits of its shutdown.
kube::ManagerOptions manager_options(const Settings& settings);

/// What the types of the options cannot say.
api::Result<> check(const Settings& settings);

}  // namespace webhook
