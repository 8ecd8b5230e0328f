#include "kube/client/config.hpp"

#include <cstdlib>
#include <span>

#include "kube/client/kubeconfig.hpp"
#include "net/process/file.hpp"

namespace kube {

api::Result<ClusterConfig> parse_kubeconfig(std::string_view yaml, const std::string& file) {
    const auto error = [&](const std::string& what) {
        return api::Error{.code = api::Errc::invalid, .message = file + ": " + what};
    };
    const KubeconfigFile only = {.name = file, .text = std::string(yaml)};
    auto config = merge_kubeconfigs(std::span(&only, 1));
    if (!config) return config.error();
    if (!*config)
        return error("current-context is not set; choose one with `kubectl config use-context NAME`");
    if ((*config)->exec)
        return error("the user's exec runs the credential plugin " + (*config)->exec->command +
                     ", which servers do not; use a client certificate, a token or a tokenFile");
    return std::move(**config);
}

api::Result<ClusterConfig> load_kubeconfig(const std::string& file) {
    const auto text = net::read_file(file);
    if (!text) return text.error();
    return parse_kubeconfig(*text, file);
}

api::Result<ClusterConfig> in_cluster_config() {
    const ReadEnv env = [](const char* name) {
        const char* value = std::getenv(name);
        return std::string(value ? value : "");
    };
    return in_cluster_config(env, [](const std::string& path) { return net::read_file(path); });
}

api::Result<ClusterConfig> in_cluster_config(const ReadEnv& env, const ReadFile& read) {
    const std::string folder = "/var/run/secrets/kubernetes.io/serviceaccount/";
    ClusterConfig config = {.host = env("KUBERNETES_SERVICE_HOST"),
                            .port = env("KUBERNETES_SERVICE_PORT"),
                            .source = "in-cluster service account"};
    if (config.host.empty() || config.port.empty()) {
        return api::Error{
            .code = api::Errc::invalid,
            .message =
                "not running in a pod (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not "
                "set); outside a cluster, give --kubeconfig FILE"};
    }
    config.token.file = folder + "token";
    config.ca.file = folder + "ca.crt";
    for (const std::string& file : {config.token.file, config.ca.file}) {
        if (const auto text = read(file); !text) {
            return api::Error{
                .code = api::Errc::invalid,
                .message = text.error().message +
                           "; does the pod mount its service account (automountServiceAccountToken)?"};
        }
    }
    if (const auto ns = read(folder + "namespace")) {
        config.ns = *ns;
        while (!config.ns.empty() && static_cast<unsigned char>(config.ns.back()) <= ' ')
            config.ns.pop_back();
    }
    return config;
}

}  // namespace kube
