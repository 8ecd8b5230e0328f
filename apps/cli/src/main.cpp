#include <algorithm>
#include <string>
#include <vector>

#include "commands.hpp"
#include "complete/complete.hpp"

namespace {

constexpr const char* program = "kubectl trainjob";

int run(const cli::Command& command, const std::vector<const char*>& words) {
    const std::string name = std::string(program) + " " + std::string(command.name);
    net::Options options(name, command.help, SIGNALBOX_VERSION);
    for (const cli::Example& example : command.examples)
        options.add_example(std::string(program) + " " + example.command, example.about);
    return command.run(options, static_cast<int>(words.size()), words.data());
}

std::string names_of_commands() {
    std::string text;
    for (const cli::Command& command : cli::commands())
        text.append(text.empty() ? "" : ", ").append(command.name);
    return text;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words =
        cli::command_first({argv + std::min(argc, 1), argv + argc}, cli::commands());
    if (!words.empty() && words[0] == "__complete")
        return cli::complete(std::vector<std::string>(words.begin() + 1, words.end()), cli::commands());
    std::vector<const char*> pointers;
    for (const std::string& word : words) pointers.push_back(word.c_str());
    if (const auto* command = words.empty() ? nullptr : cli::find_command(cli::commands(), words[0]))
        return run(*command, pointers);
    net::Options options(program, "Commands for TrainJobs: in files, and in a cluster.", SIGNALBOX_VERSION);
    for (const cli::Command& command : cli::commands())
        options.add_command(std::string(command.name), command.about, command.argument);
    pointers.insert(pointers.begin(), program);
    return cli::run_command(
        options, static_cast<int>(pointers.size()), pointers.data(), [&]() -> api::Result<cli::Output> {
            return api::invalid("",
                                "a command is missing: " + names_of_commands() + "; --help describes them");
        });
}
