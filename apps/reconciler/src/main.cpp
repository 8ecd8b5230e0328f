#include <set>
#include <string_view>

#include "net/process/run_main.hpp"
#include "run.hpp"

namespace {

// Commands that have moved to the plugin of kubectl in this release.
const std::set<std::string_view> moved_commands = {"explain", "render"};

constexpr net::Sibling plugin = {.file = "kubectl-trainjob", .call = "kubectl trainjob"};

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && moved_commands.contains(argv[1]))
        return net::execute_moved_command("signalbox-reconciler", plugin, argv + 1);
    reconciler::Settings settings;
    net::Options options(
        "signalbox-reconciler",
        "Turns TrainJobs into JobSets, keeps their status up to date, ends them at their deadline and "
        "deletes them after their time to live.",
        SIGNALBOX_VERSION);
    reconciler::add_options(options, settings);
    return net::run_main(options, argc, argv, [&] { return reconciler::run(settings); });
}
