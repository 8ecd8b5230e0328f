#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/error.hpp"
#include "kube/client/exec_credential.hpp"
#include "net/client/proxy.hpp"

namespace kube {

/// A certificate, key or token: its text, or the file to read it from, repeatedly. Both empty: none.
struct Material {
    std::string text = {};
    std::string file = {};

    bool empty() const { return text.empty() && file.empty(); }
};

/// The user to impersonate; the credentials need the permission to do so.
struct Impersonation {
    std::string user = {};  ///< empty: none, and neither are the others
    std::string uid = {};
    std::vector<std::string> groups = {};
    std::vector<std::pair<std::string, std::vector<std::string>>> extra = {};
};

/// The address of an API server and the credentials of the client.
struct ClusterConfig {
    std::string host = {};  ///< IPv6 without brackets
    std::string port = {};
    std::string base_path = {};  ///< path of the server URL, without a final slash
    bool tls = true;
    bool verify = true;            ///< false: insecure-skip-tls-verify
    std::string server_name = {};  ///< tls-server-name; empty: `host`
    std::optional<net::Proxy> proxy = {};
    Material ca = {};  ///< empty: the system's roots
    Material client_cert = {};
    Material client_key = {};
    Material token = {};
    std::optional<ExecPlugin> exec = {};  ///< only without the credentials above
    Impersonation as = {};
    std::string ns = {};  ///< namespace of the context or of the own pod; empty: not set
    /// For log lines: "kubeconfig /x, context \"y\"" or "in-cluster service account".
    std::string source = {};
};

/// Reads a file; empty: net::read_file.
using ReadFile = std::function<api::Result<std::string>(const std::string& path)>;
/// Returns the value of an environment variable; "" if it is not set.
using ReadEnv = std::function<std::string(const char* name)>;

/// Returns the cluster and the user of the current context, for servers. Refuses a user with a credential
/// plugin. `file` is the file's name in errors; relative paths are relative to its folder. Errors name the
/// file and the field and say how to fix it. They never contain a token or key.
api::Result<ClusterConfig> parse_kubeconfig(std::string_view yaml, const std::string& file);
api::Result<ClusterConfig> load_kubeconfig(const std::string& file);

/// Reads KUBERNETES_SERVICE_HOST/PORT and /var/run/secrets/kubernetes.io/serviceaccount. Fails outside a pod
/// and if the token or the CA cannot be read.
api::Result<ClusterConfig> in_cluster_config();
api::Result<ClusterConfig> in_cluster_config(const ReadEnv& env, const ReadFile& read);  ///< for tests

}  // namespace kube
