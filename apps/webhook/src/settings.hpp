#pragma once
#include <string>

#include "net/option_types.hpp"
#include "net/options.hpp"

namespace webhook {

/// What the command line and the configuration file say.
struct Settings {
    std::string kubeconfig = {};  ///< empty = the pod's service account
    net::HostPort listen{"0.0.0.0", 9443};
    std::string tls_cert = {};
    std::string tls_key = {};
    std::string client_ca = {};  ///< empty = clients need no certificate
    net::HostPort admin_listen{"0.0.0.0", 8080};
    int threads = 1;
    net::LogLevel log_level = net::LogLevel::info;
    net::LogFormat log_format = net::LogFormat::json;
};

/// What is used where nobody says otherwise; as many threads as this process has cores.
Settings default_settings();

/// The table of options; `settings` must outlive it.
void add_options(net::Options& options, Settings& settings);

/// What the types of the options cannot say.
api::Result<> check(const Settings& settings);

}  // namespace webhook
