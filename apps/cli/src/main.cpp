#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "check/check.hpp"
#include "explain/explain.hpp"
#include "net/process/run_main.hpp"
#include "render/render.hpp"

namespace {

constexpr const char* program = "kubectl trainjob";

struct Command {
    std::string_view name;
    const char* about;
    const char* help;
    int (*run)(net::Options& options, int argc, char** argv);
};

template <class Settings>
int run(net::Options& options, int argc, char** argv, api::Result<net::Output> (*body)(const Settings&)) {
    Settings settings;
    add_options(options, settings);
    return net::run_command(options, argc, argv, [&] { return body(settings); });
}

constexpr Command commands[] = {
    {"check", "say what admission would say to objects in files, without a cluster",
     "Says what admission would say to the TrainJobs and runtimes in some files, by the other objects in "
     "them, "
     "without a cluster. Exit status: 0; 1 if something would be refused; 2 on bad usage or input that "
     "cannot "
     "be read.",
     [](net::Options& options, int argc, char** argv) {
         return run<cli::CheckSettings>(options, argc, argv, cli::check);
     }},
    {"explain", "show how a TrainJob of a cluster stands, and why",
     "Shows on one screen how a TrainJob of a cluster stands and why: its state, deadline and time to live, "
     "what has changed of its runtime since, its JobSet, its Pods and what is wrong with them, the latest "
     "events. It reads with the permissions of the kubeconfig, and changes nothing. Exit status: 0; 1 if the "
     "TrainJob cannot be read; 2 on bad usage and for a kubeconfig that cannot be used.",
     [](net::Options& options, int argc, char** argv) {
         return run<cli::ExplainSettings>(options, argc, argv, cli::explain);
     }},
    {"render", "print what would be applied for TrainJobs in files, without a cluster",
     "Prints what would be applied for the TrainJobs in some files, by the runtimes in them and what else is "
     "there, without a cluster. Values of Secrets are not shown. Exit status: 0; 1 if a TrainJob would not "
     "be "
     "built; 2 on bad usage or input that cannot be read.",
     [](net::Options& options, int argc, char** argv) {
         return run<cli::RenderSettings>(options, argc, argv, cli::render);
     }},
};

}  // namespace

int main(int argc, char** argv) {
    for (const Command& command : commands) {
        if (argc < 2 || argv[1] != command.name) continue;
        net::Options options(std::string(program) + " " + std::string(command.name), command.help,
                             SIGNALBOX_VERSION);
        return command.run(options, argc - 1, argv + 1);
    }
    net::Options options(program,
                         "Commands for TrainJobs: what they become, what admission says, how they stand.",
                         SIGNALBOX_VERSION);
    for (const Command& command : commands) options.add_command(std::string(command.name), command.about);
    return net::run_command(options, argc, argv, [&]() -> api::Result<net::Output> {
        return api::invalid("", "a command is missing: see --help");
    });
}
