#include <cstdio>
#include <set>
#include <string_view>

#include "net/process/run_main.hpp"
#include "net/process/sibling.hpp"
#include "run.hpp"

namespace {

// Commands of the release before; kubectl-trainjob has them now.
const std::set<std::string_view> moved_commands = {"check"};

int execute_moved(char** argv) {
    std::fprintf(stderr, "signalbox-webhook %s is kubectl trainjob %s now, and goes with the next release\n",
                 argv[1], argv[1]);
    return net::execute_sibling("kubectl-trainjob", argv + 1);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && moved_commands.contains(argv[1])) return execute_moved(argv);
    webhook::Settings settings = webhook::default_settings();
    net::Options options(
        "signalbox-webhook",
        "Says to the API server which TrainJobs, TrainingRuntimes and ClusterTrainingRuntimes "
        "make sense, and keeps the time stamps of runtime patches.",
        SIGNALBOX_VERSION);
    webhook::add_options(options, settings);
    return net::run_main(options, argc, argv, [&]() -> api::Result<> {
        if (auto valid = webhook::check_services(options, settings.services); !valid) return valid.error();
        return webhook::run(settings);
    });
}
