#include "kube/client/kubeconfig.hpp"

#include <set>
#include <utility>

#include "api/json.hpp"
#include "api/yaml.hpp"
#include "client/kubeconfig_entry.hpp"
#include "client/server_url.hpp"

namespace kube {
namespace {

using api::Json;

constexpr std::string_view exec_extension = "client.authentication.k8s.io/exec";

struct Parsed {
    std::string name;
    Json root;
};

// As in Go's decoder: the kind may be missing, and a name must be unique.
api::Result<Json> parse(const KubeconfigFile& file) {
    auto root = api::parse_yaml(file.text);
    const auto wrong = [&](const std::string& what) {
        return api::Error{.code = api::Errc::invalid, .message = file.name + what};
    };
    if (!root) return wrong(" is not valid YAML: " + root.error().message);
    if (root->is_null()) *root = Json::object();
    const Json& config = *root;
    const std::string_view kind = config["kind"].as_string();
    if (!config.is_object() || (kind != "Config" && config.contains("kind")))
        return wrong(" is not a kubeconfig: it should say `kind: Config`");
    for (const char* list : {"clusters", "contexts", "users"}) {
        std::set<std::string_view> names;
        for (const Json& entry : config[list].items())
            if (const std::string_view name = entry["name"].as_string(); !names.insert(name).second)
                return wrong(std::string(": ") + list + " has \"" + std::string(name) + "\" twice");
    }
    return root;
}

class Merged {
public:
    Merged(std::vector<Parsed> files, const KubeconfigChoice& choice)
        : files_(std::move(files)), choice_(choice) {}

    api::Result<std::optional<ClusterConfig>> read() const {
        const std::string context_name = choice_.context.empty() ? current_context() : choice_.context;
        std::optional<KubeconfigEntry> context;
        if (!context_name.empty()) {
            context = find("contexts", context_name, "context");
            if (!context)
                return missing(choice_.context.empty() ? "current-context" : "--context", "contexts",
                               context_name);
        }
        const auto name_in_context = [&](std::string_view field) {
            return context ? context->text(field) : std::string();
        };
        const std::string cluster_name =
            choice_.cluster.empty() ? name_in_context("cluster") : choice_.cluster;
        if (cluster_name.empty() && choice_.server.empty()) {
            if (context) return context->error("cluster", "is not set");
            return std::optional<ClusterConfig>();
        }
        ClusterConfig config = {.source = source(context_name, cluster_name)};
        config.ns = choice_.ns.empty() ? name_in_context("namespace") : choice_.ns;
        const auto cluster = find("clusters", cluster_name, "cluster");
        if (!cluster && !cluster_name.empty())
            return not_listed(choice_.cluster.empty() ? &*context : nullptr, "cluster", cluster_name);
        const KubeconfigEntry chosen = cluster ? *cluster : nothing();
        if (auto done = read_cluster(chosen, config); !done) return done.error();

        const std::string user_name = choice_.user.empty() ? name_in_context("user") : choice_.user;
        const auto user = find("users", user_name, "user");
        // A context without a user is anonymous.
        if (!user && !user_name.empty())
            return not_listed(choice_.user.empty() ? &*context : nullptr, "user", user_name);
        if (auto done = read_user(user ? *user : nothing(), chosen, config); !done) return done.error();
        return std::optional(std::move(config));
    }

private:
    static KubeconfigEntry nothing() {
        static const Json empty = Json::object();
        return {&empty, "", ""};
    }

    std::string current_context() const {
        for (const Parsed& file : files_)
            if (const std::string_view name = file.root["current-context"].as_string(); !name.empty())
                return std::string(name);
        return "";
    }

    // Returns the member `kind` of the first entry with that name.
    std::optional<KubeconfigEntry> find(const std::string& list, const std::string& name,
                                        std::string_view kind) const {
        static const Json empty = Json::object();
        for (const Parsed& file : files_) {
            for (const Json& entry : file.root[list].items()) {
                if (name.empty() || entry["name"].as_string() != name) continue;
                const Json& value = entry[kind].is_object() ? entry[kind] : empty;
                return KubeconfigEntry{&value, list + "[" + name + "]." + std::string(kind) + ".", file.name};
            }
        }
        return std::nullopt;
    }

    std::string file_names() const {
        std::string names;
        for (const Parsed& file : files_) names.append(names.empty() ? "" : ":").append(file.name);
        return names;
    }
    std::string source(const std::string& context, const std::string& cluster) const {
        std::string text = files_.empty() ? "--server" : "kubeconfig " + file_names();
        if (!context.empty()) return text + ", context \"" + context + "\"";
        if (!cluster.empty()) return text + ", cluster \"" + cluster + "\"";
        return text;
    }

    api::Error missing(std::string_view by, const std::string& list, const std::string& name) const {
        std::string text = std::string(by) + " names \"" + name + "\", which is not in " + list;
        if (!files_.empty()) text.insert(0, file_names() + ": ");
        std::set<std::string_view> others;
        for (const Parsed& file : files_)
            for (const Json& entry : file.root[list].items()) others.insert(entry["name"].as_string());
        std::string_view before = "; there are ";
        if (by.starts_with("--"))
            for (const std::string_view other : others)
                text.append(std::exchange(before, ", ")).append(other);
        return {.code = api::Errc::invalid, .message = std::move(text)};
    }
    // `context` is null if an option names it.
    api::Error not_listed(const KubeconfigEntry* context, const std::string& what,
                          const std::string& name) const {
        if (!context) return missing("--" + what, what + "s", name);
        return context->error(what, "names \"" + name + "\", which is not in " + what + "s");
    }

    api::Result<> read_cluster(const KubeconfigEntry& cluster, ClusterConfig& config) const {
        const bool replaced = !choice_.server.empty();
        auto url = parse_server_url(replaced ? choice_.server : cluster.text("server"));
        if (!url && replaced) return api::invalid("", "--server " + url.error().message);
        if (!url) return cluster.error("server", url.error().message);
        config.host = std::move(url->host);
        config.port = std::move(url->port);
        config.base_path = std::move(url->path);
        config.tls = url->tls;
        // tls-server-name belongs to the server of the same entry.
        config.server_name = replaced ? "" : cluster.text("tls-server-name");
        if (const std::string proxy = cluster.text("proxy-url"); !proxy.empty()) {
            auto parsed = parse_proxy_url(proxy);
            if (!parsed) return cluster.error("proxy-url", parsed.error().message);
            config.proxy = std::move(*parsed);
        }
        const auto insecure = cluster.flag("insecure-skip-tls-verify");
        if (!insecure) return insecure.error();
        config.verify = !*insecure;
        auto ca = cluster.pem("certificate-authority");
        if (!ca) return ca.error();
        config.ca = std::move(*ca);
        if (!config.verify && !config.ca.empty())
            return cluster.error("insecure-skip-tls-verify",
                                 "contradicts certificate-authority; remove one of them");
        return {};
    }

    // Returns the part of the cluster that a plugin gets, without the CA.
    Json shown_to_plugin(const KubeconfigEntry& cluster) const {
        const bool replaced = !choice_.server.empty();
        Json shown = Json::object({{"server", replaced ? choice_.server : cluster.text("server")}});
        if (!replaced && !cluster["tls-server-name"].empty())
            shown["tls-server-name"] = cluster["tls-server-name"];
        for (const char* field : {"insecure-skip-tls-verify", "disable-compression"})
            if (cluster[field].bool_or(false)) shown[field] = true;
        if (!cluster["proxy-url"].empty()) shown["proxy-url"] = cluster["proxy-url"];
        Json& own = shown["config"];
        for (const Json& extension : cluster["extensions"].items())
            if (extension["name"].as_string() == exec_extension) own = extension["extension"];
        return shown;
    }

    api::Result<> read_user(const KubeconfigEntry& user, const KubeconfigEntry& cluster,
                            ClusterConfig& config) const {
        config.as = read_kubeconfig_impersonation(user);
        if (!choice_.as.empty()) config.as.user = choice_.as;
        if (!choice_.as_uid.empty()) config.as.uid = choice_.as_uid;
        if (!choice_.as_groups.empty()) config.as.groups = choice_.as_groups;
        const bool more = !config.as.uid.empty() || !config.as.groups.empty() || !config.as.extra.empty();
        if (config.as.user.empty() && more && (!choice_.as_uid.empty() || !choice_.as_groups.empty()))
            return api::invalid("", "--as-group and --as-uid need --as: name the user as well");
        if (config.as.user.empty() && more)
            return user.error("as", "is not set, but as-uid, as-groups or as-user-extra are");
        // As in kubectl: credentials are not sent in plain text.
        if (!config.tls) return {};
        return read_kubeconfig_user(user, shown_to_plugin(cluster), config);
    }

    const std::vector<Parsed> files_;
    const KubeconfigChoice& choice_;
};

}  // namespace

api::Result<std::optional<ClusterConfig>> merge_kubeconfigs(std::span<const KubeconfigFile> files,
                                                            const KubeconfigChoice& choice) {
    std::vector<Parsed> parsed;
    for (const KubeconfigFile& file : files) {
        auto root = parse(file);
        if (!root) return root.error();
        parsed.push_back({file.name, std::move(*root)});
    }
    return Merged(std::move(parsed), choice).read();
}

}  // namespace kube
