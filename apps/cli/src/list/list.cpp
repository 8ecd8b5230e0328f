#include "list/list.hpp"

#include <algorithm>

#include "cluster/session.hpp"
#include "job/read.hpp"
#include "job/targets.hpp"
#include "list/rows.hpp"

namespace cli {
namespace {

Text text_of(const ListSettings& settings, std::span<const Brief> jobs, api::Time now) {
    switch (settings.format) {
        case ListFormat::json: return Text::json(list_document(jobs));
        case ListFormat::yaml: return Text::yaml(list_document(jobs));
        case ListFormat::name: return list_names(jobs);
        default: break;
    }
    const TableStyle style = {.terminal = terminal(),
                              .namespaces = settings.all_namespaces,
                              .wide = settings.format == ListFormat::wide};
    return list_table(jobs, now, style);
}

kube::Async<Output> show(Session& session, const ListSettings& settings) {
    std::vector<std::string> notes;
    Selection selection = {.ns = settings.all_namespaces ? "" : session.ns, .labels = settings.selector};
    auto runtimes = co_await read_runtimes(session.server, selection.ns, notes);
    auto jobs = co_await read_jobs(session.server, std::move(selection), *runtimes);
    if (!jobs) co_return jobs.error();
    if (!settings.runtime.empty())
        std::erase_if(*jobs, [&](const Brief& job) { return job.runtime != settings.runtime; });
    if (settings.format != ListFormat::name) {
        const PodsQuery query = {.now = session.now(), .nodes = settings.format == ListFormat::wide};
        if (auto read = co_await read_pods(session.server, *jobs, query, notes); !read)
            co_return read.error();
    }
    Output output;
    for (const std::string& note : notes) output.err += log_line("list", "note: " + note);
    const bool is_table = settings.format == ListFormat::table || settings.format == ListFormat::wide;
    if (jobs->empty() && is_table)
        output.err +=
            Text::line(settings.all_namespaces ? "No TrainJobs found"
                                               : "No TrainJobs found in the namespace " + session.ns);
    else
        output.out = text_of(settings, *jobs, session.now());
    co_return std::move(output);
}

}  // namespace

void add_options(net::Options& options, ListSettings& settings) {
    add_options(options, settings.all_namespaces, settings.selector);
    options.add("runtime", "NAME", settings.runtime, "only those of the runtime with this name");
    options.add_choice("output", settings.format,
                       {{"table", ListFormat::table},
                        {"wide", ListFormat::wide},
                        {"json", ListFormat::json},
                        {"yaml", ListFormat::yaml},
                        {"name", ListFormat::name}},
                       "a table, one with more columns, documents for programs, or names");
    options.shorten("output", 'o');
    options.add("watch", settings.watch,
                "show them again when something has changed, until it is interrupted");
    options.shorten("watch", 'w');
    options.add("interval", "DURATION", settings.interval, "how often --watch shows changes; at least 100ms");
    add_options(options, settings.cluster);
}

api::Result<Output> list(const ListSettings& settings) {
    if (auto checked = check_interval(settings.interval); !checked) return checked.error();
    const bool is_table = settings.format == ListFormat::table || settings.format == ListFormat::wide;
    if (settings.watch && !is_table)
        return api::invalid("", "--watch shows a table: leave out --output, or use --output=wide");
    return with_cluster(settings.cluster, "list", [&](Session& session) {
        return settings.watch ? watch_list(session, settings) : show(session, settings);
    });
}

Command list_command() {
    static constexpr Example examples[] = {
        {"list", "Lists the TrainJobs of your namespace."},
        {"list -A -l team=vision --watch",
         "Lists those with a label in all namespaces, and keeps the list up to date."},
        {"list -o json", "Prints the list for programs."},
    };
    return {.name = "list",
            .about = "list TrainJobs with state, progress, nodes, GPUs and times",
            .help =
                "Lists the TrainJobs of a namespace or of all: the state, the progress and the time left "
                "that the training code has reported, nodes that are ready of those wanted, GPUs, age, what "
                "is left of the deadline and until it is deleted, and the queue. It needs the role view, and "
                "changes nothing. Exit status: 0; 1 if the TrainJobs cannot be read; 2 on bad usage and for "
                "a kubeconfig that cannot be used.",
            .examples = examples,
            .run = run_with<ListSettings, list>,
            .options = options_of<ListSettings>};
}

}  // namespace cli
