#pragma once
#include <optional>
#include <string>

#include "api/object_key.hpp"
#include "kube/client/namespaces.hpp"
#include "lifecycle/conditions.hpp"
#include "net/process/option_types.hpp"
#include "net/process/options.hpp"
#include "runtime/pipeline.hpp"

namespace reconciler {

/// What the command line and the configuration file say.
struct Settings {
    std::string kubeconfig = {};  ///< empty = the pod's service account
    kube::Namespaces namespaces = {};
    net::HostPort admin_listen{"0.0.0.0", 8080};
    bool leader_elect = true;
    api::ObjectKey lease = {};  ///< what is empty has a default: lease_of()
    int concurrency = 64;       ///< passes in flight
    double qps = 0;             ///< requests a second; 0 = the API server's flow control decides
    int burst = 0;
    lifecycle::CreatedCondition created_condition = lifecycle::CreatedCondition::always;
    net::FeatureGates feature_gates = {};
    std::string status_url = {};  ///< empty, as the next: see status_server_of()
    api::ObjectKey status_ca_secret = {};
    net::LogLevel log_level = net::LogLevel::info;
    net::LogFormat log_format = net::LogFormat::json;
};

/// The table of options; `settings` must outlive it.
void add_options(net::Options& options, Settings& settings);

/// Those of them that change what TrainJobs become.
void add_build_options(net::Options& options, Settings& settings);

/// What the types of the options cannot say.
api::Result<> check(const Settings& settings);

/// Where trainers report to; nullopt while the gate TrainJobStatus is off. `pod_namespace` as in lease_of().
std::optional<runtime::StatusServer> status_server_of(const Settings& settings,
                                                      const std::string& pod_namespace);

/// The lease to hold. `pod_namespace` is empty outside of a pod: a kubeconfig's namespace is where its owner
/// happens to work, and two reconcilers must not fail to meet because of that.
api::ObjectKey lease_of(const Settings& settings, const std::string& pod_namespace);

}  // namespace reconciler
