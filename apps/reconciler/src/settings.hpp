#pragma once
#include <optional>
#include <string>

#include "api/object_key.hpp"
#include "controller/build_settings.hpp"
#include "kube/client/namespaces.hpp"
#include "kube/manager/metrics_options.hpp"
#include "lifecycle/conditions.hpp"
#include "net/process/option_types.hpp"
#include "net/process/options.hpp"
#include "net/tls/tls_policy.hpp"

namespace reconciler {

/// The settings of the command line and the configuration file.
struct Settings {
    std::string kubeconfig = {};  ///< empty: the pod's service account
    kube::Namespaces namespaces = {};
    net::HostPort admin_listen{"::", 8080};
    kube::MetricsSettings metrics = {};
    std::string metrics_cert = {};  ///< with metrics.secure only, like the next; empty: it is made
    std::string metrics_key = {};
    net::TlsPolicy tls = {};
    bool leader_elect = true;
    api::ObjectKey lease = {};  ///< empty parts have a default: lease_of()
    int concurrency = 64;       ///< concurrent reconciles
    double qps = 0;             ///< requests per second; 0: limited only by the API server's flow control
    int burst = 0;
    lifecycle::CreatedCondition created_condition = lifecycle::CreatedCondition::always;
    controller::BuildSettings build = {};
    net::LogLevel log_level = net::LogLevel::info;
    net::LogFormat log_format = net::LogFormat::json;
};

/// Adds the options; `settings` must outlive `options`.
void add_options(net::Options& options, Settings& settings);

/// Checks combinations that the types of the options cannot exclude.
api::Result<> check(const Settings& settings);

/// Returns the lease to hold. `pod_namespace` is empty outside of a pod. The namespace of a kubeconfig does
/// not count: it may differ between users, and two reconcilers must use the same lease.
api::ObjectKey lease_of(const Settings& settings, const std::string& pod_namespace);

}  // namespace reconciler
