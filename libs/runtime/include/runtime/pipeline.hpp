#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/object_key.hpp"

/// Which plugins there are.
namespace runtime {

class Plugin;

/// In the order in which each hook runs. A file that owns one includes runtime/plugin.hpp.
using Pipeline = std::vector<std::unique_ptr<Plugin>>;

/// Where the processes of trainers report their progress, and the CA by which they trust that server.
struct StatusServer {
    std::string url = {};           ///< "https://service.namespace.svc:10443", without a path
    api::ObjectKey ca_secret = {};  ///< has the CA of its certificate in `ca.crt`

    bool operator==(const StatusServer&) const = default;
};

/// What is tried out: off unless it is there.
struct Features {
    std::optional<StatusServer> status_server = {};  ///< gate TrainJobStatus
};

/// Every plugin, with what is tried out.
Pipeline make_pipeline(const Features& features);
/// The same with nothing tried out.
const Pipeline& default_pipeline();

}  // namespace runtime
