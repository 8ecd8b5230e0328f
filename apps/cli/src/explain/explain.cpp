#include "explain/explain.hpp"

#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <cstdlib>

#include "explain/collect.hpp"

namespace cli {
namespace {

using namespace std::chrono_literals;

constexpr auto shortest_interval = 100ms;

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

api::Result<api::ObjectKey> key_of(const ExplainSettings& settings, const std::string& ns) {
    const std::string& text = settings.train_job;
    const auto slash = text.find('/');
    if (slash != std::string::npos) {
        api::ObjectKey key = {text.substr(0, slash), text.substr(slash + 1)};
        if (key.ns.empty() || key.name.empty() || key.name.find('/') != std::string::npos)
            return api::invalid("", text + ": must be NAMESPACE/NAME, or a NAME");
        if (!settings.cluster.ns.empty() && settings.cluster.ns != key.ns)
            return api::invalid("", text + " is not in the namespace " + settings.cluster.ns +
                                        " of --namespace: leave out one of them");
        return key;
    }
    if (text.empty()) return api::invalid("", "the name of the TrainJob is empty");
    return api::ObjectKey{ns, text};
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
    options.add("watch", settings.watch,
                "show it again whenever something has changed, until the TrainJob is gone");
    options.shorten("watch", 'w');
    options.add("interval", "DURATION", settings.interval, "how often --watch looks; at least 100ms");
    add_options(options, settings.cluster);
}

api::Result<net::Output> explain(const ExplainSettings& settings) {
    if (settings.interval < shortest_interval) return api::invalid("", "--interval must be at least 100ms");
    auto config = find_cluster(settings.cluster);
    if (!config) return config.error();
    const auto key = key_of(settings, config->ns);
    if (!key) return key.error();
    boost::asio::io_context context{1};
    const auto clock = kube::make_clock(context.get_executor());
    const auto server = connect(context.get_executor(), *clock, std::move(*config), settings.cluster);
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
