#include "kube/client/config.hpp"

#include <cstdlib>
#include <filesystem>

#include "api/base64.hpp"
#include "api/json.hpp"
#include "api/yaml.hpp"
#include "client/server_url.hpp"
#include "net/process/file.hpp"

namespace kube {
namespace {

using api::Json;

// Reads one kubeconfig. Each error begins with the file and the field.
class Kubeconfig {
public:
    Kubeconfig(Json root, const std::string& file)
        : root_(std::move(root)), file_(file), folder_(std::filesystem::path(file).parent_path()) {}

    api::Result<ClusterConfig> read() const {
        const std::string current(root()["current-context"].as_string());
        if (current.empty())
            return error("current-context", "is not set; choose one with `kubectl config use-context NAME`");
        const Json* context = find("contexts", current, "context");
        if (!context) return missing("current-context", "contexts", current);
        const std::string context_at = "contexts[" + current + "].context";

        ClusterConfig config = {.source = "kubeconfig " + file_ + ", context \"" + current + "\""};
        config.ns = (*context)["namespace"].as_string();
        const std::string cluster_name((*context)["cluster"].as_string());
        const Json* cluster = find("clusters", cluster_name, "cluster");
        if (!cluster) return missing(context_at + ".cluster", "clusters", cluster_name);
        if (auto done = read_cluster(*cluster, "clusters[" + cluster_name + "].cluster.", config); !done)
            return done.error();
        // A context without a user is anonymous.
        const std::string user_name((*context)["user"].as_string());
        if (user_name.empty()) return config;
        const Json* user = find("users", user_name, "user");
        if (!user) return missing(context_at + ".user", "users", user_name);
        if (auto done = read_user(*user, "users[" + user_name + "].user.", config); !done)
            return done.error();
        return config;
    }

private:
    const Json& root() const { return root_; }

    api::Error error(const std::string& field, const std::string& what) const {
        return {.code = api::Errc::invalid, .message = file_ + ": " + field + " " + what};
    }
    api::Error missing(const std::string& field, const std::string& list, const std::string& name) const {
        if (name.empty()) return error(field, "is not set");
        return error(field, "names \"" + name + "\", which is not in " + list);
    }

    // Returns the member `kind` of the entry with that name.
    const Json* find(std::string_view list, std::string_view name, std::string_view kind) const {
        static const Json empty = Json::object();
        for (const Json& entry : root()[list].items()) {
            if (name.empty() || entry["name"].as_string() != name) continue;
            return entry[kind].is_object() ? &entry[kind] : &empty;
        }
        return nullptr;
    }

    api::Result<> refuse(const Json& from, const std::string& at, std::string_view field,
                         const std::string& why) const {
        if (from[field].empty()) return {};
        return error(at + std::string(field), why);
    }

    // `field` names a file. `field`-data has the contents in base64 and takes precedence.
    api::Result<Material> pem(const Json& from, const std::string& at, const std::string& field) const {
        const std::string data_field = field + "-data";
        if (const Json& data = from[data_field]; !data.empty()) {
            auto text = api::from_base64(data.as_string());
            if (!text || text->find("-----BEGIN ") == std::string::npos)
                return error(at + data_field,
                             "is not a PEM text in base64; encode the file with `base64 -w0`");
            return Material{.text = std::move(*text)};
        }
        return file_at(from, at, field);
    }

    api::Result<Material> file_at(const Json& from, const std::string& at, const std::string& field) const {
        const Json& name = from[field];
        if (name.empty()) return Material{};
        if (!name.is_string()) return error(at + field, "must be a file name");
        return Material{.file = (folder_ / name.as_string()).lexically_normal().string()};
    }

    api::Result<> read_cluster(const Json& cluster, const std::string& at, ClusterConfig& config) const {
        if (auto ok = refuse(cluster, at, "proxy-url", "is not supported; connect without a proxy"); !ok)
            return ok;
        auto url = parse_server_url(cluster["server"].as_string());
        if (!url) return error(at + "server", url.error().message);
        config.host = std::move(url->host);
        config.port = std::move(url->port);
        config.base_path = std::move(url->path);
        config.tls = url->tls;
        config.server_name = cluster["tls-server-name"].as_string();
        const Json& insecure = cluster["insecure-skip-tls-verify"];
        if (!insecure.is_null() && !insecure.is_bool())
            return error(at + "insecure-skip-tls-verify", "must be true or false");
        config.verify = !insecure.bool_or(false);
        auto ca = pem(cluster, at, "certificate-authority");
        if (!ca) return ca.error();
        config.ca = std::move(*ca);
        if (!config.verify && !config.ca.empty())
            return error(at + "insecure-skip-tls-verify",
                         "contradicts certificate-authority; remove one of them");
        return {};
    }

    api::Result<> read_user(const Json& user, const std::string& at, ClusterConfig& config) const {
        const std::string instead = "; use a client certificate, a token or a tokenFile";
        for (const std::string_view field : {"exec", "auth-provider"})
            if (auto ok =
                    refuse(user, at, field, "runs a credential plugin, which is not supported" + instead);
                !ok)
                return ok;
        for (const std::string_view field : {"username", "password"})
            if (auto ok = refuse(user, at, field, "is not supported by API servers since 1.19" + instead);
                !ok)
                return ok;
        for (const std::string_view field : {"as", "as-uid", "as-groups", "as-user-extra"})
            if (auto ok = refuse(user, at, field, "is not supported; use the credentials of that user"); !ok)
                return ok;

        auto cert = pem(user, at, "client-certificate");
        if (!cert) return cert.error();
        auto key = pem(user, at, "client-key");
        if (!key) return key.error();
        if (cert->empty() != key->empty())
            return error(at + (cert->empty() ? "client-certificate" : "client-key"),
                         "is missing: a certificate and its key go together");
        config.client_cert = std::move(*cert);
        config.client_key = std::move(*key);

        auto token = file_at(user, at, "tokenFile");
        if (!token) return token.error();
        config.token = std::move(*token);
        const Json& text = user["token"];
        if (!text.is_null() && !text.is_string())
            return error(at + "token", "must be a string; put it in quotes");
        if (config.token.empty()) config.token.text = text.as_string();
        return {};
    }

    const Json root_;
    const std::string& file_;
    const std::filesystem::path folder_;
};

}  // namespace

api::Result<ClusterConfig> parse_kubeconfig(std::string_view yaml, const std::string& file) {
    auto root = api::parse_yaml(yaml);
    if (!root) {
        return api::Error{.code = api::Errc::invalid,
                          .message = file + " is not valid YAML: " + root.error().message};
    }
    if (!root->is_object() || std::as_const(*root)["kind"].as_string() != "Config") {
        return api::Error{.code = api::Errc::invalid,
                          .message = file + " is not a kubeconfig: it should say `kind: Config`"};
    }
    return Kubeconfig(std::move(*root), file).read();
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
