#include "remove/remove.hpp"

#include "cluster/refusal.hpp"
#include "cluster/session.hpp"
#include "job/targets.hpp"
#include "net/process/option_types.hpp"
#include "text/duration.hpp"

namespace cli {
namespace {

kube::Async<Output> remove_in(Session& session, const DeleteSettings& settings) {
    const Runtimes none;
    Selection selection = {.ns = settings.all_namespaces ? "" : session.ns, .labels = settings.selector};
    auto jobs = co_await read_jobs(session.server, std::move(selection), none);
    if (!jobs) co_return jobs.error();
    // A laptop's clock must not delete anything.
    if (!session.clock.is_certain())
        co_return api::Error{.code = api::Errc::unavailable,
                             .message =
                                 "the answers of the API server do not say what time it is (no Date, "
                                 "or contradictory ones), so it is not known which TrainJobs are old "
                                 "enough; nothing was deleted"};
    Output output;
    for (const Brief& job : *jobs) {
        if (!has_ended_before(job, settings.older_than, session.now())) continue;
        const std::string line = printed_name(job) + " in " + job.key.ns + ", " +
                                 std::string(job.state.word) + " " +
                                 format_duration(since(*job.end, session.now())) + " ago";
        if (settings.dry_run) {
            output.out += Text::line(line + ", would be deleted");
            continue;
        }
        // Another TrainJob may have the name by now.
        kube::Request request = kube::remove(kube::resources::train_jobs, job.key,
                                             kube::Propagation::background, kube::SameObject(job.uid));
        auto done = co_await session.server.send(std::move(request));
        if (done) {
            output.out += Text::line(line + ", deleted");
        } else if (done.error().code != api::Errc::not_found) {
            output.err += log_line("delete", api::describe(advised(done.error(), job.key)));
            output.status = 1;
        }
    }
    if (output.out.empty() && output.err.empty())
        output.err = Text::line("No TrainJobs have ended that long ago");
    co_return std::move(output);
}

}  // namespace

api::Result<> read_option(std::string_view text, Age& target) {
    const auto of_days = [&](std::string_view digits, std::int64_t days) -> api::Result<> {
        const auto count = net::read_integer(digits, 0, 36'500);
        if (!count) return count.error();
        target.time = std::chrono::hours(24 * days * *count);
        return {};
    };
    if (text.ends_with('d')) return of_days(text.substr(0, text.size() - 1), 1);
    if (text.ends_with('w')) return of_days(text.substr(0, text.size() - 1), 7);
    return net::read_option(text, target.time);
}

std::string show_option(Age value) { return short_duration(value.time); }

bool has_ended_before(const Brief& job, Age age, api::Time now) {
    return job.ended && job.end && now - *job.end >= age.time && job.state.word != "being deleted";
}

void add_options(net::Options& options, DeleteSettings& settings) {
    options.add("ended", settings.ended, "those that are complete or have failed; nothing else is deleted");
    options.add("older-than", "AGE", settings.older_than,
                "only those that ended at least that long ago: 7d, 2w, 36h");
    add_options(options, settings.all_namespaces, settings.selector);
    options.add("dry-run", settings.dry_run, "only print what would be deleted");
    add_options(options, settings.cluster);
}

api::Result<Output> delete_ended(const DeleteSettings& settings) {
    if (!settings.ended)
        return api::invalid("",
                            "only TrainJobs that have ended are deleted: say so by --ended; `kubectl delete "
                            "trainjob NAME` deletes any other");
    return with_cluster(settings.cluster, "delete",
                        [&](Session& session) { return remove_in(session, settings); });
}

Command delete_command() {
    static constexpr Example examples[] = {
        {"delete --ended --older-than 7d --dry-run", "Lists the TrainJobs that ended a week ago or earlier."},
        {"delete --ended --older-than 7d", "Deletes them."},
    };
    return {.name = "delete",
            .about = "delete TrainJobs that have ended",
            .help =
                "Deletes TrainJobs that are complete or have failed, with all that belongs to them, and "
                "prints a line for each. It needs the role edit. Exit status: 0; 1 if one of them could not "
                "be deleted; 2 on bad usage and for a kubeconfig that cannot be used.",
            .examples = examples,
            .run = run_with<DeleteSettings, delete_ended>,
            .options = options_of<DeleteSettings>};
}

}  // namespace cli
