#include <cstdio>
#include <set>
#include <string_view>

#include "net/process/run_main.hpp"
#include "net/process/sibling.hpp"
#include "run.hpp"

namespace {

// Commands of the release before; kubectl-trainjob has them now.
const std::set<std::string_view> moved_commands = {"explain", "render"};

int execute_moved(char** argv) {
    std::fprintf(stderr,
                 "signalbox-reconciler %s is kubectl trainjob %s now, and goes with the next release\n",
                 argv[1], argv[1]);
    return net::execute_sibling("kubectl-trainjob", argv + 1);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && moved_commands.contains(argv[1])) return execute_moved(argv);
    reconciler::Settings settings;
    net::Options options(
        "signalbox-reconciler",
        "Turns TrainJobs into JobSets, keeps their status true, ends them at their deadline and "
        "removes them after their time to live.",
        SIGNALBOX_VERSION);
    reconciler::add_options(options, settings);
    return net::run_main(options, argc, argv, [&] { return reconciler::run(settings); });
}
