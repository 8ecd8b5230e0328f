#include <set>
#include <string_view>

#include "net/process/run_main.hpp"
#include "run.hpp"

namespace {

// Commands that have moved to the plugin of kubectl in this release.
const std::set<std::string_view> moved_commands = {"check"};

constexpr net::Sibling plugin = {.file = "kubectl-trainjob", .call = "kubectl trainjob"};

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && moved_commands.contains(argv[1]))
        return net::execute_moved_command("signalbox-webhook", plugin, argv + 1);
    webhook::Settings settings = webhook::default_settings();
    net::Options options(
        "signalbox-webhook",
        "Validates TrainJobs, TrainingRuntimes and ClusterTrainingRuntimes for the API server, sets the "
        "time stamps of runtime patches, and restores fields that other clients leave out because they do "
        "not know them. With --serve=progress it takes reports of progress from Pods of TrainJobs.",
        SIGNALBOX_VERSION);
    webhook::add_options(options, settings);
    return net::run_main(options, argc, argv, [&]() -> api::Result<> {
        if (auto valid = webhook::check_services(options, settings.services); !valid) return valid.error();
        return webhook::run(settings);
    });
}
