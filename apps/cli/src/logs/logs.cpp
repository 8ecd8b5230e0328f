#include "logs/logs.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <limits>
#include <set>

#include "api/names.hpp"
#include "api/train_job.hpp"
#include "cluster/lists.hpp"
#include "cluster/refusal.hpp"
#include "cluster/session.hpp"
#include "logs/sources.hpp"
#include "net/process/task_group.hpp"
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
constexpr std::chrono::hours longest_silence{24 * 365};
constexpr std::size_t buffered = 64 * 1024;
constexpr std::size_t longest_last = 1024 * 1024;
// Without --follow, the output of more Pods is printed one group after the other.
constexpr std::size_t group_size = 100;

// Every line begins with its time: lines of several Pods can be merged, and no line is empty.
std::string target_of(const std::string& ns, const LogSource& source) {
    return kube::path(resources::pods, {ns, source.pod}) +
           "/log?timestamps=true&container=" + kube::percent_encode(source.container);
}

// The output of one container, line by line.
class LogStream {
public:
    LogStream(kube::ApiServer& server, std::unique_ptr<kube::Watch> watch, LogSource source,
              std::string target, std::string prefix)
        : server_(&server),
          watch_(std::move(watch)),
          source_(std::move(source)),
          target_(std::move(target)),
          prefix_(std::move(prefix)) {}

    /// Reads the next line. Returns false at the end.
    kube::Async<bool> advance() {
        if (!watch_) co_return false;
        auto line = co_await watch_->next();
        if (!line) co_return line.error();
        if (line->empty()) {
            watch_.reset();
            co_return co_await read_last();
        }
        take(*line);
        co_return true;
    }
    const LogSource& source() const { return source_; }
    const std::string& stamp() const { return line_.stamp; }
    Text printed(Colours colours) const { return Text(prefix_) + Text::output(line_.text, colours); }

private:
    // A part that continues a line has the time of its beginning.
    void take(const std::string& part) {
        if (part.starts_with('\r'))
            line_.text = part.substr(1);
        else
            line_ = log_line(part);
    }

    // A watch drops a last line without its end.
    kube::Async<bool> read_last() {
        kube::Request request = {.target = target_ + "&tailLines=1", .accept = "*/*"};
        request.max_answer = longest_last;
        auto answer = co_await server_->send(std::move(request));
        if (!answer || answer->body.empty() || answer->body.ends_with('\n')) co_return false;
        LogLine last = log_line(answer->body);
        if (last.stamp <= line_.stamp) co_return false;
        line_ = std::move(last);
        co_return true;
    }

    kube::ApiServer* server_;
    std::unique_ptr<kube::Watch> watch_;
    LogSource source_;
    std::string target_;
    std::string prefix_;
    LogLine line_ = {};
};

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
    return std::any_of(sources.begin(), sources.end(),
                       [](const LogSource& source) { return source.state == ContainerState::running; });
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
        co_return api::terminal_condition(api::parse_train_job(*job)) != nullptr;
    }

    kube::Async<std::vector<LogSource>> look() {
        ListQuery query = {.resource = resources::pods,
                           .ns = key_.ns,
                           .labels = std::string(api::job_set_name_label) + "=" + key_.name};
        auto pods = co_await read_objects(session_.server, std::move(query));
        if (!pods) co_return advised(pods.error());
        const auto node = settings_.node < 0 ? std::nullopt : std::optional(settings_.node);
        auto sources = log_sources(std::move(*pods), node, settings_.container);
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

    kube::Async<LogStream> open(LogSource source) {
        std::string target = target_of(key_.ns, source);
        kube::Request request = {
            .target = target, .accept = "*/*", .idle_timeout = longest_silence, .lines = kube::Lines::output};
        if (settings_.follow) request.target += "&follow=true";
        if (settings_.tail >= 0) request.target += "&tailLines=" + std::to_string(settings_.tail);
        auto watch = co_await session_.server.watch(std::move(request));
        // A Pod that was deleted meanwhile does not mean that the TrainJob is missing.
        if (!watch && watch.error().code == api::Errc::not_found) co_return watch.error();
        if (!watch) co_return advised(watch.error());
        std::string prefix = prefix_of(source);
        co_return LogStream(session_.server, std::move(*watch), std::move(source), std::move(target),
                            std::move(prefix));
    }

    void blame(const LogSource& source, const api::Error& error) {
        if (leaving_) return;  // it was cancelled
        failed_ = true;
        remarks_ += log_line("logs", source.pod + ": " + api::describe(error));
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
        std::vector<LogStream> streams;
        for (const LogSource& source : sources) {
            auto stream = co_await open(source);
            if (!stream) {
                blame(source, stream.error());
                continue;
            }
            auto any = co_await stream->advance();
            if (!any) blame(source, any.error());
            if (any && *any) streams.push_back(std::move(*stream));
        }
        Text text;
        while (!streams.empty()) {
            const auto first = std::min_element(
                streams.begin(), streams.end(),
                [](const LogStream& a, const LogStream& b) { return a.stamp() < b.stamp(); });
            text += first->printed(colours_);
            if (text.str().size() > buffered && !print(std::exchange(text, {})))
                co_return api::Error{.message = "the output cannot be written"};
            auto more = co_await first->advance();
            if (!more) blame(first->source(), more.error());
            if (!more || !*more) streams.erase(first);
        }
        if (!print(text)) co_return api::Error{.message = "the output cannot be written"};
        co_return api::Result<>();
    }

    kube::Task<> follow(LogSource source) {
        auto stream = co_await open(source);
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
        std::set<std::string> begun;
        last_sign_ = session_.clock.now();
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
                for (LogSource& source : *sources)
                    if (source.state != ContainerState::waiting && begun.insert(source.id).second)
                        group.start(follow(std::move(source)), pass_on);
            const bool over = sources && (gone || (ended && *ended));
            if (!over || works(*sources)) last_sign_ = session_.clock.now();
            if (over && (group.empty() || session_.clock.now() >= last_sign_ + late_output)) break;
            print_error(std::exchange(remarks_, {}));
            co_await session_.clock.sleep_until(session_.clock.now() + between_looks);
        }
        leaving_ = true;
        co_await group.join();
        if (bug) std::rethrow_exception(bug);
        if (outcome && begun.empty()) outcome = no_pods(true);
        if (outcome) outcome->err = remarks_;
        if (outcome && failed_) outcome->status = 1;
        co_return std::move(outcome);
    }

    Session& session_;
    const LogsSettings& settings_;
    api::ObjectKey key_;
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
    options.add("prefix", settings.prefix, "name the Pod in front of each line, also if there is only one");
    add_options(options, settings.cluster);
}

api::Result<Output> logs(const LogsSettings& settings) {
    return with_cluster(settings.cluster, "logs", [&](Session& session) { return show(session, settings); });
}

Command logs_command() {
    static constexpr Example examples[] = {
        {"logs night --follow", "Prints the output of all Pods of the TrainJob night as it comes."},
        {"logs night --node 0 --tail 100", "Prints the last hundred lines of its first node."},
    };
    return {.name = "logs",
            .argument = "NAMESPACE/NAME",
            .about = "print the output of all Pods of a TrainJob",
            .help =
                "Prints the output of all Pods of a TrainJob, with lines of several Pods in the order of "
                "their time, each behind the name of its Pod. It needs the role view. Exit status: 0; 1 if "
                "there is no Pod, or if the output of one cannot be read; 2 on bad usage and for a "
                "kubeconfig that cannot be used.",
            .examples = examples,
            .run = run_with<LogsSettings, logs>,
            .options = options_of<LogsSettings>};
}

}  // namespace cli
