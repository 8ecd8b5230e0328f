#include <string_view>

#include "check/check.hpp"
#include "net/process/run_main.hpp"
#include "run.hpp"

namespace {

constexpr const char* check_command = "check";

int check(int argc, char** argv) {
    webhook::CheckSettings settings;
    net::Options options(
        "signalbox-webhook check",
        "Says what admission would say to the TrainJobs and runtimes in some files, by the other "
        "objects in them, without a cluster. Exit status: 0; 1 if something would be refused; 2 on "
        "bad usage or input that cannot be read.",
        SIGNALBOX_VERSION);
    webhook::add_options(options, settings);
    return net::run_command(options, argc, argv, [&] { return webhook::check(settings); });
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == check_command) return check(argc - 1, argv + 1);
    webhook::Settings settings = webhook::default_settings();
    net::Options options(
        "signalbox-webhook",
        "Says to the API server which TrainJobs, TrainingRuntimes and ClusterTrainingRuntimes "
        "make sense, and keeps the time stamps of runtime patches.",
        SIGNALBOX_VERSION);
    options.add_command(check_command, "say what admission would say to objects in files, without a cluster");
    webhook::add_options(options, settings);
    return net::run_main(options, argc, argv, [&]() -> api::Result<> {
        if (auto valid = webhook::check_services(options, settings.services); !valid) return valid.error();
        return webhook::run(settings);
    });
}
