#include "list/list.hpp"

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <map>

#include "job/read.hpp"
#include "kube/watch/reflector.hpp"
#include "kube/watch/store.hpp"
#include "list/rows.hpp"

namespace cli {
namespace {

using BriefStore = kube::Store<Brief>;

constexpr std::chrono::seconds between_looks{10};

// On a terminal one table replaces the other. Elsewhere, rows that differ are printed below.
class Printer {
public:
    explicit Printer(const ListSettings& settings) : settings_(settings) {}

    /// Returns false if the output cannot be written.
    bool print(std::vector<Brief> jobs, api::Time now) {
        TableStyle style = {.terminal = terminal(),
                            .namespaces = settings_.all_namespaces,
                            .wide = settings_.format == ListFormat::wide};
        const bool first = !std::exchange(begun_, true);
        if (style.terminal.is_terminal) {
            return cli::print(frame(list_table(jobs, now, style), style.terminal, first));
        }
        style.heading = first;
        keep_changes(jobs);
        return (jobs.empty() && !first) || cli::print(list_table(jobs, now, style));
    }

private:
    void keep_changes(std::vector<Brief>& jobs) {
        std::map<api::ObjectKey, Shown> before = std::exchange(shown_, {});
        for (const Brief& job : jobs) shown_[job.key] = {job, api::to_json(list_row(job))};
        std::erase_if(jobs, [&](const Brief& job) {
            const auto at = before.find(job.key);
            return at != before.end() && at->second.text == shown_[job.key].text;
        });
        for (auto& [key, old] : before) {
            if (shown_.contains(key)) continue;
            old.job.state = {.word = "gone", .tone = Tone::faint};
            jobs.push_back(std::move(old.job));
        }
    }

    struct Shown {
        Brief job = {};
        std::string text = {};
    };

    const ListSettings& settings_;
    bool begun_ = false;
    std::map<api::ObjectKey, Shown> shown_ = {};
};

std::vector<Brief> sorted(const BriefStore& store) {
    std::vector<Brief> jobs;
    store.for_each(
        [&](const api::ObjectKey&, const BriefStore::Entry& entry) { jobs.push_back(entry.index); });
    std::sort(jobs.begin(), jobs.end(), [](const Brief& a, const Brief& b) { return a.key < b.key; });
    return jobs;
}

// Looks at Pods again after changes of TrainJobs, and every ten seconds: they may change without one. It
// takes a tenth of the time at most, since jobs may have thousands of Pods.
class PodLook {
public:
    PodLook(Session& session, const ListSettings& settings) : session_(session), settings_(settings) {}

    /// A TrainJob has changed.
    void note_change() { next_ = soonest_; }

    kube::Async<> at(std::vector<Brief>& jobs, std::vector<std::string>& notes) {
        const auto begin = session_.clock.now();
        if (begin < next_) {
            recall(jobs);
            co_return api::Result<>();
        }
        next_ = begin + between_looks;
        const PodsQuery query = {.now = session_.now(), .nodes = settings_.format == ListFormat::wide};
        auto read = co_await read_pods(session_.server, jobs, query, notes);
        const auto end = session_.clock.now();
        soonest_ = end + 9 * (end - begin);
        next_ = std::max(next_, soonest_);
        seen_.clear();
        for (const Brief& job : jobs)
            if (job.pods.is_read) seen_[job.uid] = {job.stage.state, job.pods};
        co_return read;
    }

private:
    struct Seen {
        lifecycle::State state = {};
        PodsState pods = {};
    };

    void recall(std::vector<Brief>& jobs) const {
        for (Brief& job : jobs)
            if (const auto at = seen_.find(job.uid); at != seen_.end() && at->second.state == job.stage.state)
                set_pods(job, at->second.pods);
    }

    Session& session_;
    const ListSettings& settings_;
    kube::SteadyTime next_ = {};
    kube::SteadyTime soonest_ = {};
    std::map<std::string, Seen> seen_ = {};
};

kube::Async<Output> print_changes(Session& session, const ListSettings& settings, const BriefStore& store,
                                  const std::string& ns, PodLook& look, std::vector<Brief> jobs) {
    Printer printer(settings);
    while (printer.print(std::move(jobs), session.now())) {
        do co_await session.clock.sleep_until(session.clock.now() + settings.interval);
        while (!store.is_synced(ns));
        jobs = sorted(store);
        std::vector<std::string> notes;
        if (auto read = co_await look.at(jobs, notes); !read) co_return read.error();
    }
    co_return api::Error{.message = "the output cannot be written"};
}

}  // namespace

kube::Async<Output> watch_list(Session& session, const ListSettings& settings) {
    using namespace boost::asio::experimental::awaitable_operators;
    const std::string ns = settings.all_namespaces ? "" : session.ns;
    std::vector<std::string> notes;
    auto runtimes = co_await read_runtimes(session.server, ns, notes);
    const auto wanted = [&](const Brief& job) {
        return settings.runtime.empty() || job.runtime == settings.runtime;
    };
    // The first table is read by plain lists: their errors end the command, while a watch would retry.
    Selection selection = {.ns = ns, .labels = settings.selector};
    auto jobs = co_await read_jobs(session.server, std::move(selection), *runtimes);
    if (!jobs) co_return jobs.error();
    std::erase_if(*jobs, [&](const Brief& job) { return !wanted(job); });
    PodLook look(session, settings);
    if (auto read = co_await look.at(*jobs, notes); !read) co_return read.error();
    for (const std::string& note : notes) print_error(log_line("list", "note: " + note));

    const auto transform = [&](api::Json& object) {
        Brief brief = brief_of(std::move(object), *runtimes);
        object = api::Json();
        return wanted(brief) ? std::optional(std::move(brief)) : std::nullopt;
    };
    const auto note = [&look](const api::ObjectKey&, const BriefStore::Entry*, const BriefStore::Entry*) {
        look.note_change();
    };
    const kube::Namespaces partitions =
        ns.empty() ? kube::Namespaces() : kube::Namespaces(std::vector<std::string>{ns});
    BriefStore store(transform, note, partitions);
    kube::Scope scope = {
        .resource = kube::resources::train_jobs, .ns = ns, .label_selector = settings.selector};
    kube::Reflector reflector(session.server, session.clock, store.partitions().front().sink,
                              std::move(scope));
    auto printed = print_changes(session, settings, store, ns, look, std::move(*jobs));
    // Ends the reflector together with the printing.
    auto ended = co_await (reflector.run() || std::move(printed));
    co_return std::move(std::get<1>(ended));
}

}  // namespace cli
