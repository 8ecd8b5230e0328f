#include "client/kubeconfig_entry.hpp"

#include <algorithm>
#include <filesystem>

#include "api/base64.hpp"
#include "api/text.hpp"

namespace kube {
namespace {

using api::Json;

constexpr std::string_view exec_group = "client.authentication.k8s.io/";

// Control characters would reach terminals. A hint is one line.
std::string one_line(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const char32_t character = api::take_character(text);
        const bool blank = character == ' ' || api::is_control(character);
        if (!blank)
            api::append_character(out, character);
        else if (!out.empty() && out.back() != ' ')
            out += ' ';
    }
    while (out.ends_with(' ')) out.pop_back();
    return out;
}

// Reads the members of `exec`.
class ExecReader {
public:
    explicit ExecReader(const KubeconfigEntry& user) : exec_{&user["exec"], user.at + "exec.", user.file} {}

    api::Result<ExecPlugin> read(Json cluster) const {
        ExecPlugin plugin;
        if (auto done = read_version(plugin); !done) return done.error();
        if (auto done = read_command(plugin); !done) return done.error();
        if (auto done = read_args(plugin); !done) return done.error();
        if (auto done = read_env(plugin); !done) return done.error();
        if (auto done = read_input(plugin); !done) return done.error();
        const auto provide = exec_.flag("provideClusterInfo");
        if (!provide) return provide.error();
        if (*provide) plugin.cluster = std::move(cluster);
        plugin.install_hint = one_line(exec_["installHint"].as_string());
        return plugin;
    }

private:
    api::Result<> read_version(ExecPlugin& plugin) const {
        plugin.api_version = exec_.text("apiVersion");
        const std::string_view want = "; the versions are client.authentication.k8s.io/v1 and v1beta1";
        if (plugin.api_version.empty()) return exec_.error("apiVersion", "is not set" + std::string(want));
        if (plugin.api_version == std::string(exec_group) + "v1alpha1")
            return exec_.error("apiVersion",
                               "is v1alpha1, which Kubernetes removed in 1.24; let a current version of the "
                               "cloud's tool write the kubeconfig again" +
                                   std::string(want));
        for (const std::string_view version : {"v1", "v1beta1"})
            if (plugin.api_version == std::string(exec_group).append(version)) return {};
        return exec_.error("apiVersion", "is \"" + plugin.api_version + "\"" + std::string(want));
    }

    api::Result<> read_command(ExecPlugin& plugin) const {
        plugin.command = exec_.text("command");
        if (plugin.command.empty()) return exec_.error("command", "is not set");
        // Resolves a path relative to its folder, a name by the PATH.
        if (plugin.command.find('/') != std::string::npos) {
            plugin.command = exec_.resolved(plugin.command);
            if (plugin.command.find('/') == std::string::npos) plugin.command.insert(0, "./");
        }
        return {};
    }

    api::Result<> read_args(ExecPlugin& plugin) const {
        for (const Json& each : exec_["args"].items()) {
            if (!each.is_string())
                return exec_.error("args[" + std::to_string(plugin.args.size()) + "]",
                                   "must be a string; put it in quotes");
            plugin.args.emplace_back(each.as_string());
        }
        return {};
    }

    api::Result<> read_env(ExecPlugin& plugin) const {
        for (const Json& each : exec_["env"].items()) {
            const std::string at = "env[" + std::to_string(plugin.env.size()) + "].";
            const std::string_view name = each["name"].as_string();
            if (name.empty() || name.find('=') != std::string_view::npos)
                return exec_.error(at + "name", "must be the name of a variable");
            if (!each["value"].is_null() && !each["value"].is_string())
                return exec_.error(at + "value", "must be a string; put it in quotes");
            plugin.env.emplace_back(name, each["value"].as_string());
        }
        return {};
    }

    api::Result<> read_input(ExecPlugin& plugin) const {
        const std::string_view mode = exec_["interactiveMode"].as_string();
        if (mode == "Never")
            plugin.input = ExecPlugin::Input::never;
        else if (mode == "Always")
            plugin.input = ExecPlugin::Input::always;
        // v1beta1 lacks the field.
        else if (mode == "IfAvailable" || (mode.empty() && plugin.api_version.ends_with("/v1beta1")))
            plugin.input = ExecPlugin::Input::if_available;
        else
            return exec_.error("interactiveMode", "must be Never, IfAvailable or Always");
        return {};
    }

    const KubeconfigEntry exec_;
};

api::Result<> refuse_old_ways(const KubeconfigEntry& user) {
    const std::string instead = "; use a client certificate, a token, a tokenFile or an exec plugin";
    if (auto ok =
            user.refuse("auth-provider",
                        "is not supported any more, nor by kubectl for clouds; use exec, for Google's with "
                        "gke-gcloud-auth-plugin, for Azure's and OpenID's with kubelogin");
        !ok)
        return ok;
    for (const std::string_view field : {"username", "password"})
        if (auto ok = user.refuse(field, "is not supported by API servers since 1.19" + instead); !ok)
            return ok;
    return {};
}

api::Result<> read_certificate(const KubeconfigEntry& user, ClusterConfig& config) {
    auto cert = user.pem("client-certificate");
    if (!cert) return cert.error();
    auto key = user.pem("client-key");
    if (!key) return key.error();
    if (cert->empty() != key->empty())
        return user.error(cert->empty() ? "client-certificate" : "client-key",
                          "is missing: a certificate and its key go together");
    config.client_cert = std::move(*cert);
    config.client_key = std::move(*key);
    return {};
}

api::Result<> read_token(const KubeconfigEntry& user, ClusterConfig& config) {
    auto token = user.file_at("tokenFile");
    if (!token) return token.error();
    config.token = std::move(*token);
    const Json& text = user["token"];
    if (!text.is_null() && !text.is_string())
        return user.error("token", "must be a string; put it in quotes");
    if (config.token.empty()) config.token.text = text.as_string();
    return {};
}

}  // namespace

api::Error KubeconfigEntry::error(std::string_view field, std::string_view what) const {
    return {.code = api::Errc::invalid,
            .message = file + ": " + at + std::string(field) + " " + std::string(what)};
}

api::Result<> KubeconfigEntry::refuse(std::string_view field, std::string_view why) const {
    if ((*value)[field].empty()) return {};
    return error(field, why);
}

api::Result<bool> KubeconfigEntry::flag(std::string_view field) const {
    const Json& given = (*value)[field];
    if (!given.is_null() && !given.is_bool()) return error(field, "must be true or false");
    return given.bool_or(false);
}

api::Result<Material> KubeconfigEntry::pem(const std::string& field) const {
    const std::string data_field = field + "-data";
    if (const Json& data = (*value)[data_field]; !data.empty()) {
        auto text = api::from_base64(data.as_string());
        if (!text || text->find("-----BEGIN ") == std::string::npos)
            return error(data_field, "is not a PEM text in base64; encode the file with `base64 -w0`");
        return Material{.text = std::move(*text)};
    }
    return file_at(field);
}

api::Result<Material> KubeconfigEntry::file_at(std::string_view field) const {
    const Json& name = (*value)[field];
    if (name.empty()) return Material{};
    if (!name.is_string()) return error(field, "must be a file name");
    return Material{.file = resolved(name.as_string())};
}

std::string KubeconfigEntry::resolved(std::string_view path) const {
    return (std::filesystem::path(file).parent_path() / path).lexically_normal().string();
}

api::Result<> read_kubeconfig_user(const KubeconfigEntry& user, Json cluster, ClusterConfig& config) {
    if (auto done = refuse_old_ways(user); !done) return done;
    if (auto done = read_certificate(user, config); !done) return done;
    if (auto done = read_token(user, config); !done) return done;
    // As in client-go, a plugin runs only without other credentials.
    if (user["exec"].empty() || !config.token.empty() || !config.client_cert.empty()) return {};
    auto plugin = ExecReader(user).read(std::move(cluster));
    if (!plugin) return plugin.error();
    config.exec = std::move(*plugin);
    return {};
}

Impersonation read_kubeconfig_impersonation(const KubeconfigEntry& user) {
    Impersonation as = {.user = user.text("as"), .uid = user.text("as-uid")};
    for (const Json& group : user["as-groups"].items()) as.groups.emplace_back(group.as_string());
    for (const auto& [key, values] : user["as-user-extra"].members()) {
        auto& extra = as.extra.emplace_back(key, std::vector<std::string>());
        for (const Json& value : values.items()) extra.second.emplace_back(value.as_string());
    }
    return as;
}

}  // namespace kube
