#include "explain/explain.hpp"

#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <cstdlib>

#include "explain/collect.hpp"
#include "kube/client/https_api_server.hpp"

namespace cli {
namespace {

using namespace std::chrono_literals;

constexpr auto shortest_interval = 100ms;

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

// Nobody in particular, at this address.
api::Result<kube::ClusterConfig> config_of_proxy(const std::string& url) {
    const std::string server = api::to_json(api::Json(url));
    return kube::parse_kubeconfig(
        "{kind: Config, current-context: proxy, contexts: [{name: proxy, context: {cluster: "
        "proxy}}], clusters: [{name: proxy, cluster: {server: " +
            server + "}}]}",
        "--server");
}

// As kubectl finds it, but for lists of files.
api::Result<kube::ClusterConfig> config_of(const ExplainSettings& settings) {
    if (!settings.server.empty()) return config_of_proxy(settings.server);
    if (!settings.kubeconfig.empty()) return kube::load_kubeconfig(settings.kubeconfig);
    const std::string file = environment("KUBECONFIG");
    if (file.find(':') != std::string::npos)
        return api::invalid(
            "",
            "$KUBECONFIG is a list of files, which is not supported: make one of them with `kubectl "
            "config view --flatten --minify > FILE` and give --kubeconfig FILE");
    return kube::load_kubeconfig(file.empty() ? environment("HOME") + "/.kube/config" : file);
}

api::Result<api::ObjectKey> key_of(const ExplainSettings& settings, const std::string& context_ns) {
    const std::string& text = settings.train_job;
    const auto slash = text.find('/');
    if (slash != std::string::npos) {
        api::ObjectKey key = {text.substr(0, slash), text.substr(slash + 1)};
        if (key.ns.empty() || key.name.empty() || key.name.find('/') != std::string::npos)
            return api::invalid("", text + ": must be NAMESPACE/NAME, or a NAME");
        if (!settings.ns.empty() && settings.ns != key.ns)
            return api::invalid("", text + " is not in the namespace " + settings.ns +
                                        " of --namespace: leave out one of them");
        return key;
    }
    if (text.empty()) return api::invalid("", "the name of the TrainJob is empty");
    if (!settings.ns.empty()) return api::ObjectKey{settings.ns, text};
    return api::ObjectKey{context_ns.empty() ? "default" : context_ns, text};
}

// Changes whenever something of it does; the times on a screen always change.
std::string version_of(const RelatedObjects& seen) {
    std::string versions;
    const auto note = [&](const api::Json& object) {
        versions.append(object["metadata"]["resourceVersion"].as_string()).append(" ");
    };
    note(seen.job);
    for (const ReadResult<api::Json>* part : {&seen.runtime, &seen.snapshot, &seen.job_set}) {
        note(part->found);
        versions += part->unread;
    }
    for (const ReadResult<std::vector<api::Json>>* part : {&seen.pods, &seen.events}) {
        for (const api::Json& object : part->found) note(object);
        versions += part->unread;
    }
    return versions;
}

// Where screens go. A terminal shows one in the place of the other; elsewhere each that differs is printed
// below.
class Show {
public:
    explicit Show(const ExplainSettings& settings)
        : terminal_(::isatty(STDOUT_FILENO) == 1), watch_(settings.watch) {}

    // False when nobody reads it any more.
    bool print(const RelatedObjects& seen, api::Time now) {
        std::string version = version_of(seen);
        if (!terminal_ && version == version_) return true;
        const bool coloured = terminal_ && environment("NO_COLOR").empty();
        std::string text = explain(seen, now, coloured ? Colours::yes : Colours::no);
        if (terminal_ && watch_)
            text.insert(0, "\x1b[H\x1b[2J");
        else if (!version_.empty())
            text.insert(0, "\n");
        version_ = std::move(version);
        return print(text);
    }
    static bool print(const std::string& text) {
        std::fwrite(text.data(), 1, text.size(), stdout);
        return std::fflush(stdout) == 0;
    }

private:
    bool terminal_;
    bool watch_;
    std::string version_ = {};
};

// Whoever watches waits for the cluster to come back.
kube::Async<> show(kube::ApiServer& server, kube::Clock& clock, api::ObjectKey key,
                   const ExplainSettings& settings) {
    Show output(settings);
    std::string trouble;
    for (bool again = false;; again = true) {
        const auto seen = co_await collect(server, key);
        if (seen) {
            trouble.clear();
            const auto now = std::chrono::floor<std::chrono::seconds>(clock.wall());
            if (!output.print(*seen, now)) co_return api::Error{.message = "the output cannot be written"};
        } else if (again && seen.error().code == api::Errc::not_found) {
            Show::print("\nTrainJob " + to_string(key) + " is gone\n");
            co_return api::Result<>();
        } else if (!again || seen.error().code != api::Errc::unavailable) {
            co_return seen.error();
        } else if (std::exchange(trouble, api::describe(seen.error())) != api::describe(seen.error())) {
            std::fprintf(stderr, "kubectl trainjob explain: %s; trying again\n", trouble.c_str());
        }
        if (!settings.watch) co_return api::Result<>();
        co_await clock.sleep_until(clock.now() + settings.interval);
    }
}

}  // namespace

void add_options(net::Options& options, ExplainSettings& settings) {
    options.add_argument("NAMESPACE/NAME", settings.train_job,
                         "which TrainJob; a NAME alone is one of --namespace");
    options.add("namespace", "NAMESPACE", settings.ns,
                "of the TrainJob, if that does not say it; else the kubeconfig's");
    options.shorten("namespace", 'n');
    options.add("watch", settings.watch,
                "show it again whenever something has changed, until the TrainJob is gone");
    options.shorten("watch", 'w');
    options.add("interval", "DURATION", settings.interval, "how often --watch looks; at least 100ms");
    options.add("server", "URL", settings.server,
                "where `kubectl proxy` serves, such as http://127.0.0.1:8001: for a kubeconfig that is not "
                "enough, because it runs a program for credentials");
    options.add(
        "kubeconfig", "FILE", settings.kubeconfig,
        "which cluster to read, and as whom; without it the file of $KUBECONFIG, else ~/.kube/config");
}

api::Result<net::Output> explain(const ExplainSettings& settings) {
    if (settings.interval < shortest_interval) return api::invalid("", "--interval must be at least 100ms");
    auto config = config_of(settings);
    if (!config)
        return api::invalid("",
                            describe(config.error()) +
                                "; another way is --kubeconfig FILE, or `kubectl proxy` and --server URL");
    const auto key = key_of(settings, config->ns);
    if (!key) return key.error();
    boost::asio::io_context context{1};
    const auto clock = kube::make_clock(context.get_executor());
    auto server = kube::make_https_api_server(context.get_executor(), *clock, std::move(*config));
    if (!server) return server.error();
    api::Result<> outcome;
    std::exception_ptr thrown;
    boost::asio::co_spawn(context, show(**server, *clock, *key, settings),
                          [&](std::exception_ptr failure, api::Result<> result) {
                              thrown = failure;
                              outcome = std::move(result);
                              context.stop();
                          });
    context.run();
    if (thrown) std::rethrow_exception(thrown);
    if (outcome) return net::Output{};
    return net::Output{.err = "kubectl trainjob explain: " + api::describe(outcome.error()) + "\n",
                       .status = 1};
}

}  // namespace cli
