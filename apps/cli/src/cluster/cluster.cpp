#include "cluster/cluster.hpp"

#include <unistd.h>

#include <cstdlib>
#include <limits>
#include <set>

#include "api/yaml.hpp"
#include "kube/client/https_api_server.hpp"
#include "net/process/file.hpp"
#include "net/process/run_program.hpp"

namespace cli {
namespace {

// No limit, as a duration with which points in time can be computed.
constexpr std::chrono::hours no_limit{24 * 365};

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

api::Result<std::string> file_text(const std::string& path) { return net::read_file(path); }

// Returns the files to read, in order.
std::vector<std::string> files_of(const ClusterSettings& settings, const kube::ReadEnv& env) {
    if (!settings.kubeconfig.empty()) return {settings.kubeconfig};
    const std::string list = env("KUBECONFIG");
    if (list.empty()) return {env("HOME") + "/.kube/config"};
    std::vector<std::string> files;
    std::set<std::string> seen;
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t end = std::min(list.find(':', begin), list.size());
        std::string file = list.substr(begin, end - begin);
        if (!file.empty() && seen.insert(file).second) files.push_back(std::move(file));
        begin = end + 1;
    }
    return files;
}

// Skips missing files, except for one that an option names.
api::Result<std::vector<kube::KubeconfigFile>> read_files(const ClusterSettings& settings,
                                                          const kube::ReadEnv& env,
                                                          const kube::ReadFile& read) {
    std::vector<kube::KubeconfigFile> files;
    for (const std::string& name : files_of(settings, env)) {
        auto text = read(name);
        if (text)
            files.push_back({.name = name, .text = std::move(*text)});
        else if (!settings.kubeconfig.empty() || text.error().code != api::Errc::not_found)
            return text.error();
    }
    return files;
}

api::Error no_cluster(const ClusterSettings& settings, const kube::ReadEnv& env,
                      const std::vector<kube::KubeconfigFile>& files) {
    std::string looked;
    for (const std::string& file : files_of(settings, env))
        looked.append(looked.empty() ? "" : ":").append(file);
    if (files.empty())
        return api::invalid("", "no cluster is configured: " + looked +
                                    " does not exist; name a kubeconfig by $KUBECONFIG or --kubeconfig FILE");
    return api::invalid("", looked +
                                ": current-context is not set; choose one with `kubectl config use-context "
                                "NAME` or --context NAME");
}

// Without a proxy-url the environment names the proxy.
api::Result<> add_proxy(kube::ClusterConfig& config, const kube::ReadEnv& env) {
    if (config.proxy || !config.tls) return {};
    const std::string url = proxy_of_variables(config.host, config.port, env);
    if (url.empty()) return {};
    auto proxy = kube::parse_proxy_url(url);
    if (!proxy) return api::invalid("", "$HTTPS_PROXY " + proxy.error().message);
    config.proxy = std::move(*proxy);
    return {};
}

// The service account of a Pod needs no file, and has no contexts or other users.
api::Result<kube::ClusterConfig> as_chosen(kube::ClusterConfig pod, const ClusterSettings& settings) {
    if (settings.as.empty() && (!settings.as_uid.empty() || !settings.as_groups.empty()))
        return api::invalid("", "--as-group and --as-uid need --as: name the user as well");
    pod.as = {.user = settings.as, .uid = settings.as_uid, .groups = settings.as_groups};
    if (!settings.ns.empty()) pod.ns = settings.ns;
    return pod;
}

api::Result<std::string> run_plugin(const kube::ExecPlugin& plugin, const std::string& info,
                                    bool interactive) {
    net::Program program = {.command = plugin.command,
                            .arguments = plugin.args,
                            .environment = plugin.env,
                            .shares_stdin = interactive,
                            .time_limit = std::chrono::minutes(10)};
    program.environment.emplace_back("KUBERNETES_EXEC_INFO", info);
    auto result = net::run_program(program);
    if (!result) return result.error();
    if (result->status != 0)
        return api::invalid("", "ended with exit status " + std::to_string(result->status) +
                                    "; what it says of that is above");
    return std::move(result->output);
}

// Runs the credential plugins of kubeconfigs as processes, for ten minutes at most, since a user may have to
// log in. `clock` must outlive it.
kube::PluginHost plugin_host(kube::Clock& clock) {
    const auto wall = [&clock] { return clock.wall(); };
    return {.run = run_plugin, .terminal = ::isatty(STDIN_FILENO) == 1, .wall = wall};
}

}  // namespace

api::Result<> read_option(std::string_view text, RequestTimeout& target) {
    const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
    const std::string with_unit = std::string(text) + (digits ? "s" : "");
    return net::read_option(with_unit, target.time);
}

std::string show_option(RequestTimeout value) { return net::show_option(value.time); }

void add_options(net::Options& options, ClusterSettings& settings) {
    options.add("namespace", "NAMESPACE", settings.ns, "the namespace; without it, that of the context");
    options.shorten("namespace", 'n');
    options.add("kubeconfig", "FILE", settings.kubeconfig,
                "the kubeconfig; without it the files of $KUBECONFIG, else ~/.kube/config");
    options.add("context", "NAME", settings.context, "which context of the kubeconfig; else its current one");
    options.add("cluster", "NAME", settings.cluster, "which cluster of the kubeconfig; else the context's");
    options.add("user", "NAME", settings.user, "which user of the kubeconfig; else the context's");
    options.add("server", "URL", settings.server,
                "the API server, in place of the cluster's; with http://, as of `kubectl proxy`, the user's "
                "credentials are not used");
    options.shorten("server", 's');
    options.add("as", "USER", settings.as, "which user to impersonate");
    options.add("as-group", "GROUP", settings.as_groups,
                "a group of the user of --as; it may be given several times");
    options.add("as-uid", "UID", settings.as_uid, "the UID of the user of --as");
    options.add("request-timeout", "DURATION", settings.request_timeout,
                "how long one request may take; 0 is without a limit");
}

api::Result<kube::ClusterConfig> find_cluster(const ClusterSettings& settings) {
    return find_cluster(settings, variable, file_text);
}

api::Result<kube::ClusterConfig> find_cluster(const ClusterSettings& settings, const kube::ReadEnv& env,
                                              const kube::ReadFile& read) {
    const auto files = read_files(settings, env, read);
    if (!files) return files.error();
    auto config = kube::merge_kubeconfigs(*files, settings);
    if (!config) return config.error();
    auto pod = kube::in_cluster_config(env, read);
    // In a Pod its namespace counts, too, if the context names none.
    if (const std::string ns = env("POD_NAMESPACE"); pod && !ns.empty()) pod->ns = ns;
    if (!*config) {
        if (!pod) return no_cluster(settings, env, *files);
        auto chosen = as_chosen(std::move(*pod), settings);
        if (!chosen) return chosen.error();
        *config = std::move(*chosen);
    } else if ((*config)->ns.empty() && pod) {
        (*config)->ns = pod->ns;
    }
    if ((*config)->ns.empty()) (*config)->ns = "default";
    if (auto done = add_proxy(**config, env); !done) return done.error();
    return std::move(**config);
}

std::vector<std::string> kubeconfig_names(const ClusterSettings& settings, const std::string& list) {
    return kubeconfig_names(settings, list, variable, file_text);
}

std::vector<std::string> kubeconfig_names(const ClusterSettings& settings, const std::string& list,
                                          const kube::ReadEnv& env, const kube::ReadFile& read) {
    std::set<std::string> names;
    for (const std::string& file : files_of(settings, env)) {
        const auto text = read(file);
        if (!text) continue;
        const auto root = api::parse_yaml(*text);
        if (!root) continue;
        for (const api::Json& entry : (*root)[list].items())
            if (std::string name(entry["name"].as_string()); !name.empty()) names.insert(std::move(name));
    }
    return {names.begin(), names.end()};
}

api::Result<std::unique_ptr<kube::ApiServer>> connect(boost::asio::any_io_executor executor,
                                                      kube::ServerClock& clock, kube::ClusterConfig config,
                                                      const ClusterSettings& settings) {
    const auto limit = settings.request_timeout.time;
    kube::HttpsApiServerOptions options;
    options.request_timeout = limit.count() == 0 ? std::chrono::milliseconds(no_limit) : limit;
    options.plugins = plugin_host(clock);
    // `logs --follow` keeps a connection for each container.
    options.max_connections = std::numeric_limits<std::size_t>::max();
    options.on_dated_answer = [&clock](const kube::DatedAnswer& answer) { clock.note(answer); };
    return kube::make_https_api_server(std::move(executor), clock, std::move(config), std::move(options));
}

}  // namespace cli
