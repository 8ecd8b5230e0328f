#include <string>
#include <vector>

#include "commands.hpp"
#include "complete/complete.hpp"
#include "net/process/run_main.hpp"

namespace {

constexpr const char* program = "kubectl trainjob";

int run(const cli::Command& command, int argc, char** argv) {
    const std::string name = std::string(program) + " " + std::string(command.name);
    net::Options options(name, command.help, SIGNALBOX_VERSION);
    for (const cli::Example& example : command.examples)
        options.add_example(std::string(program) + " " + example.command, example.about);
    return command.run(options, argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
    for (const cli::Command& command : cli::commands())
        if (argc >= 2 && argv[1] == command.name) return run(command, argc - 1, argv + 1);
    if (argc >= 2 && std::string_view(argv[1]) == "__complete")
        return cli::complete(std::vector<std::string>(argv + 2, argv + argc), cli::commands());
    net::Options options(program, "Commands for TrainJobs: in files, and in a cluster.", SIGNALBOX_VERSION);
    for (const cli::Command& command : cli::commands())
        options.add_command(std::string(command.name), command.about, command.argument);
    return net::run_command(options, argc, argv, [&]() -> api::Result<net::Output> {
        return api::invalid("", "a command is missing: see --help");
    });
}
