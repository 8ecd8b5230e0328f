#include "net/process/run_main.hpp"
#include "run.hpp"

int main(int argc, char** argv) {
    reconciler::Settings settings;
    net::Options options(
        "signalbox-reconciler",
        "Turns TrainJobs into JobSets, keeps their status up to date, ends them at their deadline and "
        "deletes them after their time to live.",
        SIGNALBOX_VERSION);
    reconciler::add_options(options, settings);
    return net::run_main(options, argc, argv, [&] { return reconciler::run(settings); });
}
