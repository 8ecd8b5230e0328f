#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "api/error.hpp"

namespace kube {

/// A certificate, key or token: its text, or the file to read it from (again and again). Both empty: none.
struct Material {
    std::string text = {};
    std::string file = {};

    bool empty() const { return text.empty() && file.empty(); }
};

/// Which API server to talk to, and as whom.
struct ClusterConfig {
    std::string host = {};  ///< IPv6 without brackets
    std::string port = {};
    std::string base_path = {};  ///< what the server URL has after the port, without a final slash
    bool tls = true;
    bool verify = true;            ///< false: insecure-skip-tls-verify
    std::string server_name = {};  ///< tls-server-name; empty = host
    Material ca = {};              ///< empty = the system's roots
    Material client_cert = {};
    Material client_key = {};
    Material token = {};
    std::string ns = {};      ///< namespace of the context or of our pod; empty = not said
    std::string source = {};  ///< for people: "kubeconfig /x, context \"y\"" or "in-cluster service account"
};

/// How to read a file; empty = net::read_file.
using ReadFile = std::function<api::Result<std::string>(const std::string& path)>;
/// How to read an environment variable; "" if it is not set.
using ReadEnv = std::function<std::string(const char* name)>;

/// The current context's cluster and user. `file` names the text in errors, and relative paths in it are
/// relative to its folder. Errors say which field of which file is wrong and what to do; they never contain a
/// token or key.
api::Result<ClusterConfig> parse_kubeconfig(std::string_view yaml, const std::string& file);
api::Result<ClusterConfig> load_kubeconfig(const std::string& file);

/// From KUBERNETES_SERVICE_HOST/PORT and /var/run/secrets/kubernetes.io/serviceaccount.
api::Result<ClusterConfig> in_cluster_config();
api::Result<ClusterConfig> in_cluster_config(const ReadEnv& env, const ReadFile& read);  ///< for tests

}  // namespace kube
