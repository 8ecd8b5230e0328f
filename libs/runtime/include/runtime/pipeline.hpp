#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/object_key.hpp"

/// The list of plugins.

namespace runtime {

class Plugin;

/// The plugins in the order in which each hook runs. A file that owns a pipeline includes runtime/plugin.hpp.
using Pipeline = std::vector<std::unique_ptr<Plugin>>;

/// The server to which trainers report their progress, and the CA of its certificate.
struct StatusServer {
    std::string url = {};           ///< "https://service.namespace.svc:10443", without a path
    api::ObjectKey ca_secret = {};  ///< has the CA in `ca.crt`

    bool operator==(const StatusServer&) const = default;
};

/// Experimental features; off by default.
struct Features {
    std::optional<StatusServer> status_server = {};  ///< gate TrainJobStatus
};

/// Returns every plugin, with experimental features.
Pipeline make_pipeline(const Features& features);
/// Returns every plugin, without experimental features.
const Pipeline& default_pipeline();

}  // namespace runtime
