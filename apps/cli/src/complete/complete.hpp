#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command/command.hpp"

/// Completion in shells, for kubectl's `kubectl_complete-trainjob`.
namespace cli {

/// The possible ends of a command line.
struct Choices {
    enum class Ask {
        nothing,
        train_jobs,
        namespaces,
        runtimes,
        contexts,
        clusters,
        users,
        files,
        directories
    };

    std::vector<std::pair<std::string, std::string>> words = {};  ///< with their descriptions
    Ask ask = Ask::nothing;                                       ///< words without descriptions
    std::string prefix = {};                                      ///< the part before them: "--namespace="
};

/// Returns the choices. `words`: the command line after `kubectl trainjob`; the last one is incomplete,
/// perhaps "".
Choices choices_for(std::span<const std::string> words, std::span<const Command> commands);

/// Returns lines for the shell: the choices that begin with the last word, each with its description after a
/// tab, and a line that tells kubectl whether files or directories are choices, too.
Text completion_lines(const Choices& choices, std::string_view last);

/// Runs the command: reads names from the kubeconfig, or from the cluster of the options. Prints nothing if
/// that fails.
int complete(std::vector<std::string> line, std::span<const Command> commands);

}  // namespace cli
