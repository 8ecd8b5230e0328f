#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/object_key.hpp"
#include "runtime/devices.hpp"
#include "runtime/gang_schedulers.hpp"

/// The list of plugins.

namespace runtime {

class Plugin;

/// The plugins in the order in which each hook runs, and what they share. A file that owns a pipeline
/// includes runtime/plugin.hpp.
struct Pipeline {
    std::vector<std::unique_ptr<Plugin>> plugins;
    DeviceTable devices = {};

    auto begin() const { return plugins.begin(); }
    auto end() const { return plugins.end(); }
};

/// The server to which trainers report their progress, and the CA of its certificate.
struct StatusServer {
    std::string url = {};           ///< "https://service.namespace.svc:10443", without a path
    api::ObjectKey ca_secret = {};  ///< has the CA in `ca.crt`

    bool operator==(const StatusServer&) const = default;
};

/// What a platform sets.
struct Features {
    std::optional<StatusServer> status_server = {};  ///< gate TrainJobStatus, off by default
    DeviceTable devices = {};
    GangSchedulers gang_schedulers = {};
};

/// Returns every plugin, with these features.
Pipeline make_pipeline(const Features& features);
/// Returns every plugin, with the defaults.
const Pipeline& default_pipeline();

}  // namespace runtime
