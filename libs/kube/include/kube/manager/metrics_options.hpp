#pragma once
#include "net/process/options.hpp"

namespace kube {

/// How a program serves its metrics.
struct MetricsSettings {
    bool secure = false;  ///< with TLS, for clients with permission; else at --admin-listen
    net::HostPort listen{"::", 8443};

    bool operator==(const MetricsSettings&) const = default;
};

/// Adds --metrics-secure and --metrics-listen. `settings` must outlive the options.
void add_metrics_options(net::Options& options, MetricsSettings& settings);
/// Checks combinations that the types of the options cannot exclude.
api::Result<> check(const MetricsSettings& settings);

}  // namespace kube
