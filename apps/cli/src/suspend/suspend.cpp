#include "suspend/suspend.hpp"

#include "cluster/refusal.hpp"

namespace cli {
namespace {

using api::Json;

// The field manager of this program, which differs from a controller's: the API server writes it into
// managedFields.
constexpr const char* field_manager = "kubectl-trainjob";

kube::Request patch_of(const Brief& job, bool suspend) {
    const Json patch = Json::object(
        {{"metadata", Json::object({{"uid", job.uid}})}, {"spec", Json::object({{"suspend", suspend}})}});
    return {.method = "PATCH",
            .target = kube::path(kube::resources::train_jobs, job.key) + "?fieldManager=" + field_manager,
            .content_type = "application/merge-patch+json",
            .body = api::to_json(patch)};
}

kube::Async<Output> change(Session& session, const SuspendSettings& settings, bool suspend) {
    const std::string command = suspend ? "suspend" : "resume";
    auto selection = selection_of(settings.targets, settings.cluster, session.ns);
    if (!selection) co_return selection.error();
    const Runtimes none;
    auto jobs = co_await read_jobs(session.server, std::move(*selection), none);
    if (!jobs) co_return jobs.error();
    Output output;
    if (jobs->empty()) output.err += Text::line("No TrainJobs found in the namespace " + session.ns);
    for (const Brief& job : *jobs) {
        const Suspension what = suspension_of(job, suspend);
        if (what.step == Suspension::Step::patch) {
            kube::Request request = patch_of(job, suspend);
            auto done = co_await session.server.send(std::move(request));
            if (!done) {
                output.err += log_line(command, api::describe(advised(done.error(), job.key)));
                output.status = 1;
                continue;
            }
        }
        if (what.step == Suspension::Step::refuse) {
            output.err += log_line(command, to_string(job.key) + " " + what.text);
            output.status = 1;
        } else {
            output.out += Text::line(printed_name(job) + " " + what.text);
        }
    }
    co_return std::move(output);
}

void add_all(net::Options& options, SuspendSettings& settings, const char* what) {
    add_options(options, settings.targets, what);
    add_options(options, settings.cluster);
}

api::Result<Output> run(const SuspendSettings& settings, bool suspend) {
    if (auto checked = check_targets(settings.targets); !checked) return checked.error();
    return with_cluster(settings.cluster, suspend ? "suspend" : "resume",
                        [&](Session& session) { return change(session, settings, suspend); });
}

}  // namespace

Suspension suspension_of(const Brief& job, bool suspend) {
    using Step = Suspension::Step;
    if (job.ended) return {Step::nothing, "has ended, and stays as it is"};
    // Kueue would undo the change at once.
    if (!job.queue.empty())
        return {Step::refuse,
                "is in the queue " + job.queue +
                    ": Kueue decides when it runs; `spec.active: false` in its Workload holds it"};
    if (job.suspend == suspend) return {Step::nothing, suspend ? "is suspended already" : "runs already"};
    return {Step::patch, suspend ? "suspended" : "resumed"};
}

void add_options(net::Options& options, SuspendSettings& settings) { add_all(options, settings, "suspend"); }
void add_options(net::Options& options, ResumeSettings& settings) { add_all(options, settings, "resume"); }

api::Result<Output> suspend(const SuspendSettings& settings) { return run(settings, true); }
api::Result<Output> resume(const ResumeSettings& settings) { return run(settings, false); }

Command resume_command() {
    static constexpr Example examples[] = {
        {"resume night", "Resumes the TrainJob night of your namespace."},
        {"resume -l team=vision", "Resumes those with a label."},
    };
    return {.name = "resume",
            .argument = "NAME...",
            .about = "resume TrainJobs",
            .help =
                "Resumes TrainJobs: sets spec.suspend to false. Those that have ended stay as they are, and "
                "those in a queue of Kueue are refused. It needs the role edit. Exit status: 0; 1 if one of "
                "them was not resumed; 2 on bad usage and for a kubeconfig that cannot be used.",
            .examples = examples,
            .run = run_with<ResumeSettings, resume>,
            .options = options_of<ResumeSettings>};
}

Command suspend_command() {
    static constexpr Example examples[] = {
        {"suspend night", "Suspends the TrainJob night of your namespace."},
        {"suspend --all", "Suspends all of your namespace."},
    };
    return {.name = "suspend",
            .argument = "NAME...",
            .about = "suspend TrainJobs",
            .help =
                "Suspends TrainJobs: sets spec.suspend to true, which removes their Pods. Those that have "
                "ended stay as they are, and those in a queue of Kueue are refused. It needs the role edit. "
                "Exit status: 0; 1 if one of them was not suspended; 2 on bad usage and for a kubeconfig "
                "that cannot be used.",
            .examples = examples,
            .run = run_with<SuspendSettings, suspend>,
            .options = options_of<SuspendSettings>};
}

}  // namespace cli
