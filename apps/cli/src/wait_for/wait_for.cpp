#include "wait_for/wait_for.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "text/duration.hpp"
#include "text/terminal.hpp"

namespace cli {
namespace {

// How many intervals pass between two looks for what keeps jobs from their end.
constexpr int obstacles_every = 30;

Text line_of(Goal goal, const Brief& job, api::Time now) {
    const bool stopped = goal == Goal::stopped;
    std::string line = printed_name(job) + " " + (stopped ? "stopped" : std::string(job.state.word));
    line += " after " + format_duration(since(job.created, stopped ? now : job.end.value_or(now)));
    if (job.ended && !job.complete) line += " (" + job.reason + "): " + job.message;
    return Text::line(line);
}

Text line_of_gone(const api::ObjectKey& key) { return Text::line("TrainJob " + to_string(key) + " is gone"); }

// Reads the TrainJobs of `selection`; of keys, those that exist.
kube::Async<std::vector<Brief>> read_existing(Session& session, const Selection& selection) {
    const Runtimes none;
    if (selection.keys.empty()) co_return co_await read_jobs(session.server, selection, none);
    std::vector<Brief> jobs;
    for (const api::ObjectKey& key : selection.keys) {
        Selection one = {.keys = {key}};
        auto job = co_await read_jobs(session.server, std::move(one), none);
        if (job)
            jobs.push_back(std::move(job->front()));
        else if (job.error().code != api::Errc::not_found)
            co_return job.error();
    }
    co_return std::move(jobs);
}

class Waiting {
public:
    Waiting(Session& session, const WaitSettings& settings)
        : session_(session),
          settings_(settings),
          end_(settings.timeout.count() == 0 ? kube::SteadyTime::max()
                                             : session.clock.now() + settings.timeout),
          next_obstacles_(session.clock.now() + obstacles_every * settings.interval) {}

    kube::Async<Output> run(Selection selection) {
        auto first = co_await read_first(selection);
        if (!first) co_return first.error();
        if (auto checked = check_goal(settings_.goal, *first); !checked) co_return checked.error();
        for (const Brief& job : *first)
            waited_.emplace(job.key,
                            Waited{.uid = job.uid, .created = job.created, .nodes = job.nodes.wanted});
        if (settings_.goal == Goal::stopped)
            for (const api::ObjectKey& key : selection.keys) waited_.try_emplace(key);
        if (waited_.empty())
            co_return api::Error{.code = api::Errc::not_found, .message = "no TrainJobs match"};
        if (auto counted = co_await take(std::move(*first)); !counted) co_return counted.error();
        while (!waited_.empty()) {
            if (session_.clock.now() >= end_) {
                if (!looks_) co_await look_at_last(std::move(selection));
                co_return timed_out();
            }
            const auto next = std::max(session_.clock.now() + settings_.interval, next_look_);
            co_await session_.clock.sleep_until(std::min(next, end_));
            auto jobs = co_await read_existing(session_, selection);
            if (!jobs && jobs.error().code == api::Errc::unavailable) {
                note(api::describe(jobs.error()));
                continue;
            }
            if (!jobs) co_return jobs.error();
            last_error_.clear();
            if (auto counted = co_await take(std::move(*jobs)); !counted) co_return counted.error();
        }
        co_return Output{.status = static_cast<int>(worst_)};
    }

private:
    // One that is gone has stopped once it has left no Pod.
    kube::Async<std::vector<Brief>> read_first(Selection selection) {
        const Runtimes none;
        if (settings_.goal == Goal::stopped) co_return co_await read_existing(session_, selection);
        co_return co_await read_jobs(session_.server, std::move(selection), none);
    }

    // A later TrainJob of the same name is not the one to wait for.
    kube::Async<> take(std::vector<Brief> jobs) {
        if (settings_.goal == Goal::stopped) add_gone(jobs);
        const bool looks = looks_ || session_.clock.now() >= next_obstacles_;
        if (looks) {
            next_obstacles_ = session_.clock.now() + obstacles_every * settings_.interval;
            if (auto read = co_await look(jobs); !read) co_return read.error();
        }
        std::set<api::ObjectKey> there;
        for (const Brief& job : jobs) {
            const auto at = waited_.find(job.key);
            if (at == waited_.end() || at->second.uid != job.uid) continue;
            there.insert(job.key);
            const Outcome outcome = outcome_of(settings_.goal, job);
            if (looks_) at->second.does = what_goes_on(job, session_.now());
            if (outcome == Outcome::waits) {
                if (looks && !job.ended && job.state.tone == Tone::bad) note_obstacle(job);
                continue;
            }
            print(at->second.gone ? line_of_gone(job.key) : line_of(settings_.goal, job, session_.now()));
            decide(job.key, outcome);
        }
        std::vector<api::ObjectKey> gone;
        for (const auto& [key, waited] : waited_)
            if (!there.contains(key)) gone.push_back(key);
        for (const api::ObjectKey& key : gone) {
            decide(key, Outcome::gone);
            print(line_of_gone(key));
        }
        co_return api::Result<>();
    }

    // What those that are gone may have left: they stand still, but for their Pods.
    void add_gone(std::vector<Brief>& jobs) {
        std::vector<Brief> gone;
        for (auto& [key, waited] : waited_) {
            const auto same = std::find_if(jobs.begin(), jobs.end(),
                                           [&name = key](const Brief& job) { return job.key == name; });
            if (same != jobs.end() && same->uid == waited.uid) continue;
            waited.gone = true;
            Brief left = {.key = key,
                          .uid = waited.uid,
                          .created = waited.created,
                          .stage = {.state = lifecycle::State::suspended,
                                    .is_deleted = true,
                                    .suspend = true,
                                    .nodes = waited.nodes},
                          .stopped = session_.now()};
            if (same != jobs.end()) left.replaced = same->created;
            gone.push_back(std::move(left));
        }
        jobs.insert(jobs.end(), std::make_move_iterator(gone.begin()), std::make_move_iterator(gone.end()));
    }

    // A look takes a tenth of the time at most, since a job may have thousands of Pods.
    kube::Async<> look(std::vector<Brief>& jobs) {
        const auto begin = session_.clock.now();
        std::vector<std::string> notes;
        const PodsQuery query = {
            .now = session_.now(), .all = true, .only_pods = settings_.goal == Goal::stopped};
        auto read = co_await read_pods(session_.server, jobs, query, notes);
        next_look_ = session_.clock.now() + 9 * (session_.clock.now() - begin);
        for (const std::string& text : notes)
            if (noted_.insert(text).second) print_error(log_line("wait", "note: " + text));
        co_return read;
    }

    // Why jobs have not ended, for the last words. Without an answer there is none.
    kube::Task<> look_at_last(Selection selection) {
        auto jobs = co_await read_existing(session_, selection);
        if (!jobs) co_return;
        if (auto read = co_await look(*jobs); !read) co_return;
        for (const Brief& job : *jobs)
            if (const auto at = waited_.find(job.key); at != waited_.end() && at->second.uid == job.uid)
                at->second.does = what_goes_on(job, session_.now());
    }

    void decide(const api::ObjectKey& key, Outcome outcome) {
        waited_.erase(key);
        worst_ = std::max(worst_, outcome);
    }

    Output timed_out() const {
        std::string names;
        for (const auto& [key, waited] : waited_) {
            names += (names.empty() ? "" : ", ") + to_string(key);
            if (!waited.does.empty()) names += " (" + waited.does + ")";
        }
        return {.err = log_line("wait", "after " + net::show_option(settings_.timeout) +
                                            " of --timeout, these still wait: " + names),
                .status = static_cast<int>(Outcome::timeout)};
    }

    // Such a job may be waited for in vain.
    void note_obstacle(const Brief& job) {
        const std::string name = to_string(job.key);
        if (noted_.insert(name + " " + std::string(job.state.word)).second)
            print_error(log_line("wait", name + " " + text_of(job.state, session_.now()) +
                                             "; `kubectl trainjob explain " + name + "` says why"));
    }

    void note(const std::string& error) {
        if (std::exchange(last_error_, error) != error)
            print_error(log_line("wait", error + "; trying again"));
    }

    Session& session_;
    const WaitSettings& settings_;
    kube::SteadyTime end_;
    // A status tells the end of a job, but not whether its programs run.
    const bool looks_ = settings_.goal == Goal::running || settings_.goal == Goal::suspended ||
                        settings_.goal == Goal::stopped;
    struct Waited {
        std::string uid = {};
        api::Time created = {};
        std::int64_t nodes = 1;
        std::string does = {};  // by the last look
        bool gone = false;
    };
    std::map<api::ObjectKey, Waited> waited_ = {};
    std::set<std::string> noted_ = {};
    kube::SteadyTime next_look_ = {};
    kube::SteadyTime next_obstacles_;
    Outcome worst_ = Outcome::reached;
    std::string last_error_ = {};
};

kube::Async<Output> wait_in(Session& session, const WaitSettings& settings) {
    auto selection = selection_of(settings.targets, settings.cluster, session.ns);
    if (!selection) co_return selection.error();
    Waiting waiting(session, settings);
    co_return co_await waiting.run(std::move(*selection));
}

}  // namespace

Outcome outcome_of(Goal goal, const Brief& job) {
    const bool programs = job.pods.unfinished > 0;
    if (goal == Goal::stopped) {
        const bool is_held = job.stage.state == lifecycle::State::suspended && job.stage.suspend;
        const bool reached = (job.ended || is_held) && job.pods.is_read && !programs;
        return reached ? Outcome::reached : Outcome::waits;
    }
    if (!job.ended) {
        const bool runs = job.state.word == job_state_of(PodsState{.what = PodsDo::run}).word;
        const bool rests = (job.state.word == suspended_word || job.state.word == queued_word) && !programs;
        const bool reached = (goal == Goal::running && runs) || (goal == Goal::suspended && rests);
        return reached ? Outcome::reached : Outcome::waits;
    }
    const bool wanted = goal == (job.complete ? Goal::complete : Goal::failed);
    return wanted ? Outcome::reached : Outcome::other_end;
}

api::Result<> check_goal(Goal goal, const std::vector<Brief>& jobs) {
    if (goal != Goal::stopped) return {};
    for (const Brief& job : jobs)
        if (job.stage.state == lifecycle::State::elsewhere)
            return api::Error{.code = api::Errc::forbidden,
                              .message = to_string(job.key) +
                                         " is managed by another controller, and its Pods are not here: "
                                         "wait for its end where it runs"};
    return {};
}

std::string what_goes_on(const Brief& job, api::Time now) {
    std::string text = text_of(job.state, now);
    if (job.state.stopping.empty()) return text;
    std::string_view separator = "; ";
    for (const std::string& name : job.pods.names) text.append(std::exchange(separator, ", ")).append(name);
    const auto more = job.pods.unfinished - static_cast<std::int64_t>(job.pods.names.size());
    return text + (separator == ", " && more > 0 ? " and " + std::to_string(more) + " more" : "");
}

void add_options(net::Options& options, WaitSettings& settings) {
    options.add_choice("for", settings.goal,
                       {{"complete", Goal::complete},
                        {"failed", Goal::failed},
                        {"running", Goal::running},
                        {"suspended", Goal::suspended},
                        {"stopped", Goal::stopped}},
                       "what to wait for");
    options.add("timeout", "DURATION", settings.timeout, "how long to wait; 0s is without a limit");
    options.add("interval", "DURATION", settings.interval, "how often to read the TrainJobs; at least 100ms");
    add_options(options, settings.targets, "wait for");
    add_options(options, settings.cluster);
}

api::Result<Output> wait_for(const WaitSettings& settings) {
    if (auto checked = check_targets(settings.targets); !checked) return checked.error();
    if (auto checked = check_interval(settings.interval); !checked) return checked.error();
    return with_cluster(settings.cluster, "wait",
                        [&](Session& session) { return wait_in(session, settings); });
}

Command wait_command() {
    static constexpr Example examples[] = {
        {"wait night", "Waits until the TrainJob night is complete; status 3 if it fails."},
        {"wait night --for=running --timeout=10m",
         "Waits until it runs, for ten minutes; status 5 if it does not."},
        {"wait night --for=stopped",
         "Waits until no program of it runs: after a suspension, an end or a deletion."},
    };
    return {.name = "wait",
            .argument = "NAME...",
            .about = "wait until TrainJobs run, are suspended, stop, complete or fail",
            .help =
                "Waits until all of some TrainJobs are complete, or have failed, or run, or are suspended "
                "or queued with all their programs ended, or have stopped, and prints a line for each. One "
                "has stopped that is suspended or queued, has ended or is gone, and none of whose programs "
                "runs. Exit status: 0 if all are as --for says; 3 if one has ended in another way; 4 if one "
                "was deleted; 5 after --timeout; 1 if they cannot be read, or for --for=stopped their Pods; "
                "2 on bad usage and for a kubeconfig that cannot be used.",
            .examples = examples,
            .run = run_with<WaitSettings, wait_for>,
            .options = options_of<WaitSettings>};
}

}  // namespace cli
