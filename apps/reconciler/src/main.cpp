#include <string_view>

#include "net/run.hpp"
#include "render.hpp"
#include "run.hpp"

namespace {

constexpr const char* render_command = "render";

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

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == render_command) return render(argc - 1, argv + 1);
    reconciler::Settings settings;
    net::Options options(
        "signalbox-reconciler",
        "Turns TrainJobs into JobSets, keeps their status true, ends them at their deadline and "
        "removes them after their time to live.",
        SIGNALBOX_VERSION);
    options.add_command(render_command,
                        "print what would be applied for TrainJobs in files, without a cluster");
    reconciler::add_options(options, settings);
    return net::run_main(options, argc, argv, [&] { return reconciler::run(settings); });
}
