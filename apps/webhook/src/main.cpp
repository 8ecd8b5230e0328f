#include "net/process/run_main.hpp"
#include "run.hpp"

int main(int argc, char** argv) {
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
