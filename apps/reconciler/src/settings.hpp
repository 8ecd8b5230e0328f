#pragma once
#include <optional>
#include <string>

#include "api/object_key.hpp"
#include "controller/build_settings.hpp"
#include "kube/client/namespaces.hpp"
#include "lifecycle/conditions.hpp"
#include "net/process/option_types.hpp"
#include "net/process/options.hpp"

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
    controller::BuildSettings build = {};
    net::LogLevel log_level = net::LogLevel::info;
    net::LogFormat log_format = net::LogFormat::json;
};

/// The table of options; `settings` must outlive it.
void add_options(net::Options& options, Settings& settings);

/// What the types of the options cannot say.
api::Result<> check(const Settings& settings);

/// The lease to hold. `pod_namespace` is empty outside of a pod: a kubeconfig's namespace is where its owner
/// happens to work, and two reconcilers must not fail to meet because of that.
api::ObjectKey lease_of(const Settings& settings, const std::string& pod_namespace);

}  // namespace reconciler
