#include "explain/explain.hpp"

#include "cluster/session.hpp"
#include "explain/collect.hpp"
#include "explain/model.hpp"
#include "text/terminal.hpp"

namespace cli {
namespace {

// A node's status changes every few minutes, and this rarely.
std::string seen_ready(const api::Json& node) {
    return api::is_true(api::parse_conditions(node["status"]["conditions"]), "Ready") ? " ready" : " silent";
}

// Changes when an object changes; the times on a screen always change.
std::string version_of(const RelatedObjects& seen, const Explanation& explanation) {
    // The lease itself changes every few seconds.
    std::string versions(explanation.lease.problem.empty() ? "" : "no leader ");
    const auto note = [&](const api::Json& object) {
        versions.append(object["metadata"]["resourceVersion"].as_string()).append(" ");
    };
    note(seen.job);
    for (const ReadResult<api::Json>* part : {&seen.runtime, &seen.snapshot, &seen.job_set, &seen.workload}) {
        note(part->found);
        versions += part->unread;
    }
    for (const auto& [name, node] : seen.nodes)
        versions.append(node["metadata"]["name"].as_string()).append(seen_ready(node)).append(" ");
    // Time alone makes a restarted program one that runs.
    versions.append(explanation.brief.state.word).append(detail_of(explanation.brief.state));
    for (const ReadResult<std::vector<api::Json>>* part : {&seen.pods, &seen.events}) {
        for (const api::Json& object : part->found) note(object);
        versions += part->unread;
    }
    return versions;
}

// On a terminal one screen replaces the other; elsewhere each different one is printed below.
class Printer {
public:
    explicit Printer(bool watch) : watch_(watch) {}

    /// Returns false if the output cannot be written.
    bool print(const RelatedObjects& seen, api::Time now) {
        const Terminal shown = terminal();
        const Explanation explanation = explanation_of(seen, now);
        std::string version = version_of(seen, explanation);
        if (!shown.is_terminal && version == version_) return true;
        const bool first = std::exchange(version_, std::move(version)).empty();
        const Text text = draw_text(explanation, shown);
        if (shown.is_terminal && watch_) return cli::print(frame(text, shown, first));
        return cli::print((first ? Text() : Text::line("")) + text);
    }

private:
    bool watch_;
    std::string version_ = {};
};

// A watch waits until the cluster answers again.
kube::Async<Output> show(Session& session, api::ObjectKey key, const ExplainSettings& settings) {
    Printer printer(settings.watch);
    std::string error;
    for (bool again = false;; again = true) {
        const auto seen = co_await collect(session.server, key, settings.lease);
        if (seen && settings.format != ExplainFormat::text) {
            const api::Json document = document_of(explanation_of(*seen, session.now()));
            const bool is_json = settings.format == ExplainFormat::json;
            Output output = {.out = is_json ? Text::json(document) : Text::yaml(document)};
            co_return std::move(output);
        } else if (seen) {
            error.clear();
            if (!printer.print(*seen, session.now()))
                co_return api::Error{.message = "the output cannot be written"};
        } else if (again && seen.error().code == api::Errc::not_found) {
            co_return Output{.out = Text::line("") + Text::line("TrainJob " + to_string(key) + " is gone")};
        } else if (!again || seen.error().code != api::Errc::unavailable) {
            co_return seen.error();
        } else if (std::exchange(error, api::describe(seen.error())) != api::describe(seen.error())) {
            print_error(log_line("explain", error + "; trying again"));
        }
        if (!settings.watch) co_return Output{};
        co_await session.clock.sleep_until(session.clock.now() + settings.interval);
    }
}

kube::Async<Output> explain_job(Session& session, const ExplainSettings& settings) {
    const auto key = key_of(settings.train_job, settings.cluster, session.ns);
    if (!key) co_return key.error();
    co_return co_await show(session, *key, settings);
}

}  // namespace

void add_options(net::Options& options, ExplainSettings& settings) {
    options.add_argument("NAMESPACE/NAME", settings.train_job,
                         "which TrainJob; a NAME alone is one of --namespace");
    options.add_choice(
        "output", settings.format,
        {{"text", ExplainFormat::text}, {"json", ExplainFormat::json}, {"yaml", ExplainFormat::yaml}},
        "a screen, or a document for programs");
    options.shorten("output", 'o');
    options.add("watch", settings.watch,
                "show it again whenever something has changed, until the TrainJob is gone");
    options.shorten("watch", 'w');
    options.add("lease", "NAMESPACE/NAME", settings.lease, "the lease of the reconcilers in the cluster");
    options.add("interval", "DURATION", settings.interval,
                "how often --watch reads the objects; at least 100ms");
    add_options(options, settings.cluster);
}

api::Result<Output> explain(const ExplainSettings& settings) {
    if (auto checked = check_interval(settings.interval); !checked) return checked.error();
    if (settings.watch && settings.format != ExplainFormat::text)
        return api::invalid("", "--watch shows a screen: leave out --output");
    return with_cluster(settings.cluster, "explain",
                        [&](Session& session) { return explain_job(session, settings); });
}

Command explain_command() {
    static constexpr Example examples[] = {
        {"explain night", "Shows the state of the TrainJob night of your namespace."},
        {"explain team/night --watch", "Shows it again whenever something has changed."},
    };
    return {.name = "explain",
            .argument = "NAMESPACE/NAME",
            .about = "show the state of a TrainJob and its cause",
            .help =
                "Shows the state of a TrainJob and its cause on one screen, with its deadline and time to "
                "live, what has changed of its runtime since, its JobSet, its Pods and what is wrong with "
                "them, the latest events. It reads with the permissions of the kubeconfig, and changes "
                "nothing. Exit status: 0; 1 if the TrainJob cannot be read; 2 on bad usage and for a "
                "kubeconfig that cannot be used.",
            .examples = examples,
            .run = run_with<ExplainSettings, explain>,
            .options = options_of<ExplainSettings>};
}

}  // namespace cli
