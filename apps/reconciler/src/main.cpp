#include <string_view>

#include "explain/explain.hpp"
#include "net/process/run_main.hpp"
#include "render/render.hpp"
#include "run.hpp"

namespace {

constexpr const char* render_command = "render";
constexpr const char* explain_command = "explain";

int render(int argc, char** argv) {
    reconciler::RenderSettings settings;
    net::Options options(
        "signalbox-reconciler render",
        "Prints what would be applied for the TrainJobs in some files, by the runtimes in them and "
        "what else is there, without a cluster. Values of Secrets are not shown. Exit status: 0; 1 "
        "if a TrainJob would not be built; 2 on bad usage or input that cannot be read.",
        SIGNALBOX_VERSION);
    reconciler::add_options(options, settings);
    return net::run_command(options, argc, argv, [&] { return reconciler::render(settings); });
}

int explain(int argc, char** argv) {
    reconciler::ExplainSettings settings;
    net::Options options(
        "signalbox-reconciler explain",
        "Shows on one screen how a TrainJob of a cluster stands and why: its state, deadline and time "
        "to live, what has changed of its runtime since, its JobSet, its Pods and what is wrong with "
        "them, the latest events. It reads with the permissions of the kubeconfig, and changes nothing. "
        "Exit status: 0; 1 if the TrainJob cannot be read; 2 on bad usage and for a kubeconfig that "
        "cannot be used.",
        SIGNALBOX_VERSION);
    reconciler::add_options(options, settings);
    return net::run_command(options, argc, argv, [&] { return reconciler::explain(settings); });
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == render_command) return render(argc - 1, argv + 1);
    if (argc > 1 && std::string_view(argv[1]) == explain_command) return explain(argc - 1, argv + 1);
    reconciler::Settings settings;
    net::Options options(
        "signalbox-reconciler",
        "Turns TrainJobs into JobSets, keeps their status true, ends them at their deadline and "
        "removes them after their time to live.",
        SIGNALBOX_VERSION);
    options.add_command(render_command,
                        "print what would be applied for TrainJobs in files, without a cluster");
    options.add_command(explain_command, "show how a TrainJob of a cluster stands, and why",
                        "NAMESPACE/NAME");
    reconciler::add_options(options, settings);
    return net::run_main(options, argc, argv, [&] { return reconciler::run(settings); });
}
