#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands.hpp"

/// Completion in shells, for kubectl's `kubectl_complete-trainjob`.
namespace cli {

/// What may come at the end of a command line.
struct Choices {
    enum class Ask { nothing, train_jobs, namespaces, runtimes, files, directories };

    std::vector<std::pair<std::string, std::string>> words = {};  ///< with what they mean
    Ask ask = Ask::nothing;                                       ///< words that others know besides
    std::string prefix = {};  ///< what is written already in front of these: "--namespace="
};

/// `words`: the command line behind `kubectl trainjob`; the last one is what is being written, perhaps "".
Choices choices_for(std::span<const std::string> words, std::span<const Command> commands);

/// Returns lines for the shell: those choices that begin as the last word does, each with its meaning behind
/// a tab, and a line for kubectl that says whether files or directories are choices, too.
std::string completion_lines(const Choices& choices, std::string_view last);

/// The whole command: asks the cluster that the options name. Says nothing if that fails.
int complete(std::span<const std::string> words, std::span<const Command> commands);

}  // namespace cli
