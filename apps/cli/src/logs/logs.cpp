#include "logs/logs.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/this_coro.hpp>
#include <limits>
#include <optional>
#include <set>

#include "api/names.hpp"
#include "api/train_job.hpp"
#include "cluster/lists.hpp"
#include "cluster/refusal.hpp"
#include "cluster/session.hpp"
#include "job/pods.hpp"
#include "logs/sources.hpp"
#include "logs/stream.hpp"
#include "net/process/task_group.hpp"
#include "net/process/timer.hpp"
#include "text/terminal.hpp"

namespace cli {
namespace {

using namespace std::chrono_literals;
using api::Json;
namespace resources = kube::resources;

constexpr auto between_looks = 1s;
// How long nothing of ended containers comes before the rest is given up. A node that is lost never ends its
// part.
constexpr auto late_output = 10s;
// The API server asks the node for the output, and a lost node never answers.
constexpr auto longest_wait = 10s;
constexpr std::chrono::hours longest_silence{24 * 365};
constexpr std::size_t buffered = 64 * 1024;
// Without --follow, the output of more Pods is printed one group after the other.
constexpr std::size_t group_size = 100;

// Each followed container has a connection, beside a few files of other kinds.
constexpr std::size_t other_files = 32;

// Most shells allow 1,024 files, and the kernel a program to have more. Returns how many it may have now.
std::size_t allow_many_files() {
    rlimit files = {};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return std::numeric_limits<std::size_t>::max();
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
    return files.rlim_cur;
}

api::Error too_many(std::size_t containers, std::size_t files) {
    return {.message = "to follow " + std::to_string(containers) + " containers takes " +
                       std::to_string(containers + other_files) + " open files, and this program may have " +
                       std::to_string(files) +
                       ": raise the limit by `ulimit -n`, or choose one node with --node"};
}

bool works(const std::vector<LogSource>& sources) {
    return std::any_of(sources.begin(), sources.end(), [](const LogSource& source) {
        return source.state == ContainerState::running && !source.is_silent;
    });
}

class Logs {
public:
    Logs(Session& session, const LogsSettings& settings, api::ObjectKey key)
        : session_(session), settings_(settings), key_(std::move(key)) {}

    kube::Async<Output> run() {
        auto ended = co_await has_ended();
        if (!ended) co_return ended.error();
        if (settings_.follow) co_return co_await follow_all();
        auto sources = co_await look();
        if (!sources) co_return sources.error();
        if (sources->empty()) co_return no_pods(*ended);
        if (settings_.previous)
            std::erase_if(*sources, [](const LogSource& source) { return source.restarts == 0; });
        if (sources->empty())
            co_return api::Error{.code = api::Errc::not_found,
                                 .message = "no container of TrainJob " + to_string(key_) +
                                            " was restarted in its Pod: leave out --previous"};
        co_return co_await merge_all(std::move(*sources));
    }

private:
    kube::Async<bool> has_ended() {
        kube::Request request = kube::get(resources::train_jobs, key_);
        auto job = co_await kube::fetch(session_.server, std::move(request));
        if (!job) {
            api::Error error = job.error();
            error = co_await advised_by(session_.server, std::move(error), key_);
            co_return error;
        }
        const api::TrainJob parsed = api::parse_train_job(*job);
        created_ = parsed.meta.creation;
        co_return api::terminal_condition(parsed) != nullptr;
    }

    kube::Async<std::vector<LogSource>> look() {
        ListQuery query = {.resource = resources::pods,
                           .ns = key_.ns,
                           .labels = std::string(api::job_set_name_label) + "=" + key_.name};
        auto pods = co_await read_objects(session_.server, std::move(query));
        if (!pods) co_return advised(pods.error());
        std::erase_if(*pods, [&](const Json& pod) { return is_of_namesake(pod, created_); });
        const auto node = settings_.node < 0 ? std::nullopt : std::optional(settings_.node);
        auto sources = log_sources(std::move(*pods), node, settings_.container, session_.now());
        several_ = several_ || sources.size() > 1;
        co_return std::move(sources);
    }

    api::Error no_pods(bool ended) const {
        const std::string name = settings_.node < 0 ? "no Pods" : "no node " + std::to_string(settings_.node);
        return {.code = api::Errc::not_found,
                .message = "TrainJob " + to_string(key_) + " has " + name + (ended ? " any more" : " yet") +
                           "; `kubectl trainjob explain " + to_string(key_) + "` says why"};
    }

    std::string prefix_of(const LogSource& source) const {
        return settings_.prefix || several_ ? source.label + " | " : "";
    }

    static api::Error silent(const LogSource& source) {
        return {.code = api::Errc::unavailable,
                .message = "its node " + source.node + " does not answer, and its output is left out"};
    }

    // No advice for what concerns one Pod alone: the API server has answered about the TrainJob.
    kube::Async<LogStream> open(LogSource source) {
        using namespace boost::asio::experimental::awaitable_operators;
        std::string target = log_target(key_.ns, source);
        if (settings_.previous) target += "&previous=true";
        kube::Request request = {.target = target, .accept = "*/*", .lines = kube::Lines::output};
        request.idle_timeout = settings_.follow ? longest_silence : std::chrono::seconds(longest_wait);
        if (settings_.follow) request.target += "&follow=true";
        if (settings_.tail >= 0) request.target += "&tailLines=" + std::to_string(settings_.tail);
        auto opening = session_.server.watch(std::move(request));
        auto limit = net::sleep_for(longest_wait);
        auto first = co_await (std::move(opening) || std::move(limit));
        if (first.index() != 0) co_return silent(source);
        auto watch = std::move(std::get<0>(first));
        if (!watch && watch.error().code == api::Errc::forbidden) co_return advised(watch.error());
        if (!watch) co_return watch.error();
        std::string prefix = prefix_of(source);
        co_return LogStream(session_.server, std::move(*watch), std::move(source), std::move(target),
                            std::move(prefix));
    }

    // Without --follow, the end of a stream that nothing came from.
    static api::Error broken(const api::Error& error, const LogSource& source) {
        return error.code == api::Errc::unavailable && error.http_status == 0 ? silent(source) : error;
    }

    void blame(const LogSource& source, const api::Error& error) {
        if (leaving_) return;  // it was cancelled
        failed_ = true;
        remarks_ += log_line("logs", source.pod + ": " + api::describe(error));
    }

    // A stream with its first line, or why there is none.
    struct Begun {
        std::optional<LogStream> stream = {};
        std::optional<api::Error> error = {};
    };

    kube::Task<> begin(LogSource source, Begun* begun) {
        // The API server answers for such a Pod as for one that prints nothing.
        if (source.node.empty() && source.state == ContainerState::waiting) {
            begun->error = api::Error{.message = "no node has taken it yet; `kubectl trainjob explain " +
                                                 to_string(key_) + "` says why"};
            co_return;
        }
        auto stream = co_await open(std::move(source));
        if (!stream) {
            begun->error = stream.error();
            co_return;
        }
        auto any = co_await stream->advance();
        if (!any)
            begun->error = broken(any.error(), stream->source());
        else if (*any)
            begun->stream = std::move(*stream);
    }

    // Side by side, since each may take until its node counts as silent.
    kube::Task<std::vector<LogStream>> begin_all(std::vector<LogSource> sources) {
        const auto executor = co_await boost::asio::this_coro::executor;
        net::TaskGroup group(executor);
        net::Wakeup wakeup(executor);
        std::vector<Begun> begun(sources.size());
        std::size_t waiting = sources.size();
        std::exception_ptr bug;
        const auto on_end = [&](const std::exception_ptr& thrown) {
            bug = thrown ? thrown : bug;
            --waiting;
            wakeup.notify();
        };
        for (std::size_t i = 0; i < sources.size(); ++i) group.start(begin(sources[i], &begun[i]), on_end);
        while (waiting > 0) co_await wakeup.wait();
        co_await group.join();
        if (bug) std::rethrow_exception(bug);
        std::vector<LogStream> streams;
        for (std::size_t i = 0; i < sources.size(); ++i) {
            if (begun[i].error) blame(sources[i], *begun[i].error);
            if (begun[i].stream) streams.push_back(std::move(*begun[i].stream));
        }
        co_return std::move(streams);
    }

    kube::Async<Output> merge_all(std::vector<LogSource> sources) {
        if (sources.size() > group_size)
            remarks_ += log_line("logs", "the output of " + std::to_string(sources.size()) +
                                             " containers is printed in groups of " +
                                             std::to_string(group_size) + ", each in the order of time");
        for (std::size_t begin = 0; begin < sources.size(); begin += group_size) {
            const auto first = sources.begin() + static_cast<std::ptrdiff_t>(begin);
            const std::size_t count = std::min(group_size, sources.size() - begin);
            std::vector<LogSource> group(first, first + static_cast<std::ptrdiff_t>(count));
            auto merged = co_await merge(std::move(group));
            if (!merged) co_return merged.error();
        }
        Output output = {.err = remarks_, .status = failed_ ? 1 : 0};
        co_return std::move(output);
    }

    // The line with the earliest time comes first.
    kube::Async<> merge(std::vector<LogSource> sources) {
        std::vector<LogStream> streams = co_await begin_all(std::move(sources));
        Text text;
        while (!streams.empty()) {
            const auto first = std::min_element(
                streams.begin(), streams.end(),
                [](const LogStream& a, const LogStream& b) { return a.stamp() < b.stamp(); });
            text += first->printed(colours_);
            if (text.str().size() > buffered && !print(std::exchange(text, {})))
                co_return api::Error{.message = "the output cannot be written"};
            auto more = co_await first->advance();
            if (!more) blame(first->source(), broken(more.error(), first->source()));
            if (!more || !*more) streams.erase(first);
        }
        if (!print(text)) co_return api::Error{.message = "the output cannot be written"};
        co_return api::Result<>();
    }

    // A node may send nothing before the first line. So the stream is opened until it answers.
    kube::Task<> follow(LogSource source) {
        auto stream = co_await open(source);
        if (!stream && stream.error().code == api::Errc::unavailable && stream.error().http_status == 0) {
            begun_.erase(source.id);
            co_return;
        }
        while (stream) {
            auto more = co_await stream->advance();
            last_sign_ = session_.clock.now();
            if (!more) {
                blame(source, more.error());
                co_return;
            }
            if (!*more) co_return;
            if (!print(stream->printed(colours_))) unwritable_ = true;
        }
        blame(source, stream.error());
    }

    kube::Async<Output> follow_all() {
        net::TaskGroup group(co_await boost::asio::this_coro::executor);
        api::Result<Output> outcome = Output{};
        std::set<std::string> silent_pods;
        last_sign_ = session_.clock.now();
        bool has_begun = false;
        std::exception_ptr bug;
        const std::size_t files = allow_many_files();
        const auto pass_on = [&bug](const std::exception_ptr& thrown) { bug = thrown ? thrown : bug; };
        while (!unwritable_) {
            auto ended = co_await has_ended();
            auto sources = co_await look();
            const bool gone = !ended && ended.error().code == api::Errc::not_found;
            const bool unavailable = !ended && ended.error().code == api::Errc::unavailable;
            if (!ended && !gone && !unavailable) {
                outcome = ended.error();
                break;
            }
            if (sources && sources->size() + other_files > files) {
                outcome = too_many(sources->size(), files);
                break;
            }
            if (sources)
                for (LogSource& source : *sources) {
                    if (source.is_silent && silent_pods.insert(source.id).second)
                        blame(source, silent(source));
                    if (!source.obstacle.empty() && obstructed_.insert(source.pod).second)
                        remarks_ += log_line("logs", source.pod + ": cannot start, " + source.obstacle +
                                                         "; `kubectl trainjob explain " + to_string(key_) +
                                                         "` says why");
                    if (source.is_silent || source.state == ContainerState::waiting) continue;
                    if (begun_.insert(source.id).second) group.start(follow(std::move(source)), pass_on);
                    has_begun = true;
                }
            const bool over = sources && (gone || (ended && *ended));
            if (!over || works(*sources)) last_sign_ = session_.clock.now();
            if (over && (group.empty() || session_.clock.now() >= last_sign_ + late_output)) break;
            print_error(std::exchange(remarks_, {}));
            co_await session_.clock.sleep_until(session_.clock.now() + between_looks);
        }
        leaving_ = true;
        co_await group.join();
        if (bug) std::rethrow_exception(bug);
        if (outcome && !has_begun) outcome = no_pods(true);
        if (outcome) outcome->err = remarks_;
        if (outcome && failed_) outcome->status = 1;
        co_return std::move(outcome);
    }

    Session& session_;
    const LogsSettings& settings_;
    api::ObjectKey key_;
    api::Time created_ = {};                 // of the TrainJob
    std::set<std::string> begun_ = {};       // containers that are followed
    std::set<std::string> obstructed_ = {};  // Pods that cannot start
    bool several_ = false;
    bool failed_ = false;
    bool unwritable_ = false;
    bool leaving_ = false;
    kube::SteadyTime last_sign_ = {};  // of containers that work, or of output
    Colours colours_ = terminal().colours;
    Text remarks_ = {};
};

kube::Async<Output> show(Session& session, const LogsSettings& settings) {
    const auto key = key_of(settings.train_job, settings.cluster, session.ns);
    if (!key) co_return key.error();
    Logs logs(session, settings, *key);
    co_return co_await logs.run();
}

}  // namespace

void add_options(net::Options& options, LogsSettings& settings) {
    options.add_argument("NAMESPACE/NAME", settings.train_job,
                         "which TrainJob; a NAME alone is one of --namespace");
    options.add("node", "NUMBER", settings.node, "only this node, counted from 0; -1 is all");
    options.add("container", "NAME", settings.container,
                "which container; else node, else the first of the Pod");
    options.shorten("container", 'c');
    options.add("tail", "LINES", settings.tail, "the last lines of each Pod; -1 is all");
    options.add("follow", settings.follow, "print lines as they come, until the TrainJob has ended");
    options.shorten("follow", 'f');
    options.add("previous", settings.previous, "the attempt before the last restart of each container");
    options.add("prefix", settings.prefix, "name the Pod in front of each line, also if there is only one");
    add_options(options, settings.cluster);
}

api::Result<Output> logs(const LogsSettings& settings) {
    if (settings.previous && settings.follow)
        return api::invalid("", "an attempt that has ended says no more: leave out --follow or --previous");
    return with_cluster(settings.cluster, "logs", [&](Session& session) { return show(session, settings); });
}

Command logs_command() {
    static constexpr Example examples[] = {
        {"logs night --follow", "Prints the output of all Pods of the TrainJob night as it comes."},
        {"logs night --node 0 --tail 100", "Prints the last hundred lines of its first node."},
        {"logs night --previous", "Prints what programs wrote before they failed and were restarted."},
    };
    return {.name = "logs",
            .argument = "NAMESPACE/NAME",
            .about = "print the output of all Pods of a TrainJob",
            .help =
                "Prints the output of all Pods of a TrainJob, with lines of several Pods in the order of "
                "their time, each behind the name of its Pod. A node that does not answer for ten seconds is "
                "named, and the output of the others is printed. It needs the role view. Exit status: 0; 1 "
                "if there is no Pod, or if the output of one cannot be read; 2 on bad usage and for a "
                "kubeconfig that cannot be used.",
            .examples = examples,
            .run = run_with<LogsSettings, logs>,
            .options = options_of<LogsSettings>};
}

}  // namespace cli
