#include "commands.hpp"

#include "check/check.hpp"
#include "explain/explain.hpp"
#include "list/list.hpp"
#include "logs/logs.hpp"
#include "net/process/run_main.hpp"
#include "remove/remove.hpp"
#include "render/render.hpp"
#include "suspend/suspend.hpp"
#include "timeline/timeline.hpp"
#include "wait_for/wait_for.hpp"

namespace cli {
namespace {

template <class Settings, api::Result<net::Output> (*body)(const Settings&)>
int run(net::Options& options, int argc, const char* const* argv) {
    Settings settings;
    add_options(options, settings);
    return net::run_command(options, argc, argv, [&] { return body(settings); });
}

template <class Settings>
std::vector<net::Options::Described> options_of() {
    Settings settings;
    net::Options options("", "", "");
    add_options(options, settings);
    return options.described();
}

constexpr Example check_examples[] = {
    {"check -f job.yaml -f runtime.yaml", "Checks a TrainJob and its runtime."},
    {"check -f new.yaml --before job.yaml", "Checks new.yaml as an update of job.yaml."},
    {"check -k overlays/team -o summary", "Checks what kustomize builds, with a line for each object."},
};
constexpr Example delete_examples[] = {
    {"delete --ended --older-than 7d --dry-run", "Lists the TrainJobs that ended a week ago or earlier."},
    {"delete --ended --older-than 7d", "Deletes them."},
};
constexpr Example explain_examples[] = {
    {"explain night", "Shows the state of the TrainJob night of your namespace."},
    {"explain team/night --watch", "Shows it again whenever something has changed."},
};
constexpr Example list_examples[] = {
    {"list", "Lists the TrainJobs of your namespace."},
    {"list -A -l team=vision --watch",
     "Lists those with a label in all namespaces, and keeps the list up to date."},
    {"list -o json", "Prints the list for programs."},
};
constexpr Example logs_examples[] = {
    {"logs night --follow", "Prints the output of all Pods of the TrainJob night as it comes."},
    {"logs night --node 0 --tail 100", "Prints the last hundred lines of its first node."},
};
constexpr Example render_examples[] = {
    {"render -f job.yaml -f runtime.yaml", "Prints the objects that the TrainJob would become."},
    {"render -f job.yaml -f runtime.yaml --diff new.yaml", "Prints what new.yaml would change of them."},
    {"render -k overlays/team", "Prints the objects for the TrainJobs that kustomize builds."},
};

constexpr Example resume_examples[] = {
    {"resume night", "Resumes the TrainJob night of your namespace."},
    {"resume -l team=vision", "Resumes those with a label."},
};
constexpr Example suspend_examples[] = {
    {"suspend night", "Suspends the TrainJob night of your namespace."},
    {"suspend --all", "Suspends all of your namespace."},
};
constexpr Example timeline_examples[] = {
    {"timeline night", "Shows what happened to the TrainJob night when."},
    {"timeline night --svg night.svg", "Draws it as a picture, too."},
};
constexpr Example wait_examples[] = {
    {"wait night", "Waits until the TrainJob night is complete; status 3 if it fails."},
    {"wait night --for=running --timeout=10m",
     "Waits until it runs, for ten minutes; status 5 if it does not."},
};

const Command all[] = {
    {"check", "", "print what admission would answer to objects in files, without a cluster",
     "Prints what admission would answer to the TrainJobs and runtimes in files, by the other objects in "
     "them, without a cluster. Exit status: 0; 1 if something would be refused; 2 on bad usage or input "
     "that cannot be read.",
     check_examples, run<CheckSettings, check>, options_of<CheckSettings>},
    {"delete", "", "delete TrainJobs that have ended",
     "Deletes TrainJobs that are complete or have failed, with all that belongs to them, and prints a line "
     "for each. It needs the role edit. Exit status: 0; 1 if one of them could not be deleted; 2 on bad "
     "usage and for a kubeconfig that cannot be used.",
     delete_examples, run<DeleteSettings, delete_ended>, options_of<DeleteSettings>},
    {"explain", "NAMESPACE/NAME", "show the state of a TrainJob and its cause",
     "Shows the state of a TrainJob and its cause on one screen, with its deadline and time to live, "
     "what has changed of its runtime since, its JobSet, its Pods and what is wrong with them, the latest "
     "events. It reads with the permissions of the kubeconfig, and changes nothing. Exit status: 0; 1 if "
     "the TrainJob cannot be read; 2 on bad usage and for a kubeconfig that cannot be used.",
     explain_examples, run<ExplainSettings, explain>, options_of<ExplainSettings>},
    {"list", "", "list TrainJobs with state, progress, nodes, GPUs and times",
     "Lists the TrainJobs of a namespace or of all: the state, the progress and the time left that the "
     "training code has reported, nodes that are ready of those wanted, GPUs, age, what is left of the "
     "deadline and until it is deleted, and the queue. It needs the role view, and changes nothing. Exit "
     "status: 0; 1 if the TrainJobs cannot be read; 2 on bad usage and for a kubeconfig that cannot be used.",
     list_examples, run<ListSettings, list>, options_of<ListSettings>},
    {"logs", "NAMESPACE/NAME", "print the output of all Pods of a TrainJob",
     "Prints the output of all Pods of a TrainJob, with lines of several Pods in the order of their time, "
     "each behind the name of its Pod. It needs the role view. Exit status: 0; 1 if there is no Pod, or if "
     "the output of one cannot be read; 2 on bad usage and for a kubeconfig that cannot be used.",
     logs_examples, run<LogsSettings, logs>, options_of<LogsSettings>},
    {"render", "", "print what would be applied for TrainJobs in files, without a cluster",
     "Prints what would be applied for the TrainJobs in some files, by the runtimes in them and what else "
     "is there, without a cluster. Values of Secrets are not shown. Exit status: 0; 1 if a TrainJob would "
     "not be built; 2 on bad usage or input that cannot be read.",
     render_examples, run<RenderSettings, render>, options_of<RenderSettings>},
    {"resume", "NAME...", "resume TrainJobs",
     "Resumes TrainJobs: sets spec.suspend to false. Those that have ended stay as they are, and those in a "
     "queue of Kueue are refused. It needs the role edit. Exit status: 0; 1 if one of them was not resumed; "
     "2 on bad usage and for a kubeconfig that cannot be used.",
     resume_examples, run<ResumeSettings, resume>, options_of<ResumeSettings>},
    {"suspend", "NAME...", "suspend TrainJobs",
     "Suspends TrainJobs: sets spec.suspend to true, which removes their Pods. Those that have ended stay "
     "as they are, and those in a queue of Kueue are refused. It needs the role edit. Exit status: 0; 1 if "
     "one of them was not suspended; 2 on bad usage and for a kubeconfig that cannot be used.",
     suspend_examples, run<SuspendSettings, suspend>, options_of<SuspendSettings>},
    {"timeline", "NAMESPACE/NAME", "show what happened to a TrainJob when, and where time was lost",
     "Shows as bars how long a TrainJob was suspended or queued, how long the creation of its Pods, their "
     "scheduling, image pulls and start have taken, and how long it runs; and the same of each Pod. A stage "
     "before running that takes a minute and a tenth of all the time is marked. It needs the role view. "
     "Exit status: 0; 1 if the TrainJob cannot be read; 2 on bad usage and for a kubeconfig that cannot be "
     "used.",
     timeline_examples, run<TimelineSettings, timeline>, options_of<TimelineSettings>},
    {"wait", "NAME...", "wait until TrainJobs run, are suspended, complete or fail",
     "Waits until all of some TrainJobs are complete, or have failed, or run, or are suspended, and prints "
     "a line for each. Exit status: 0 if all are as --for says; 3 if one has ended in another way; 4 if one "
     "was deleted; 5 after --timeout; 1 if they cannot be read; 2 on bad usage and for a kubeconfig that "
     "cannot be used.",
     wait_examples, run<WaitSettings, wait_for>, options_of<WaitSettings>},
};

}  // namespace

std::span<const Command> commands() { return all; }

}  // namespace cli
