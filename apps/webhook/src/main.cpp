#include "net/run.hpp"
#include "run.hpp"

int main(int argc, char** argv) {
    webhook::Settings settings = webhook::default_settings();
    net::Options options(
        "signalbox-webhook",
        "Says to the API server which TrainJobs, TrainingRuntimes and ClusterTrainingRuntimes "
        "make sense, and keeps the time stamps of runtime patches.",
        SIGNALBOX_VERSION);
    webhook::add_options(options, settings);
    return net::run_main(options, argc, argv, [&] { return webhook::run(settings); });
}
