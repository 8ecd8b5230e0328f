// Whether a program gets to know that it is to end.
#include <string>
#include <vector>

#include "build/trainer_errors.hpp"
#include "rules/shell_script.hpp"
#include "rules/validation_context.hpp"
#include "template/edit.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::Json;
using Words = std::vector<std::string_view>;

// Returns the words that the container of a program runs; none if they are those of its image.
Words command_line(const Json& container, const Json& trainer) {
    Words words;
    for (const char* list : {"command", "args"}) {
        const Json& own = trainer[list];
        for (const Json& word : (own.is_null() ? container[list] : own).items())
            words.push_back(word.as_string());
        if (words.empty()) break;
    }
    return words;
}

// Returns the name of the shell that is process 1. bash is none of these: it puts a single command in its
// place.
std::string_view shell_of(const Words& words) {
    if (words.empty()) return {};
    const std::string_view name = words.front().substr(words.front().rfind('/') + 1);
    return name == "sh" || name == "dash" ? name : std::string_view();
}

// Returns the script of `sh -c`; empty if there is none.
std::string_view script_of(const Words& words) {
    bool is_script = false;
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::string_view word = words[i];
        const bool is_option = word.size() > 1 && (word[0] == '-' || word[0] == '+');
        if (!is_option) return is_script ? word : std::string_view();
        if (word == "--") return is_script && i + 1 < words.size() ? words[i + 1] : std::string_view();
        if (word.starts_with("--")) return {};  // no option of POSIX
        is_script = is_script || (word[0] == '-' && word.find('c') != word.npos);
        if (word.find('o') != word.npos) ++i;  // the name of an option follows
    }
    return {};
}

// A preStop hook may tell the program in another way, and a plugin may start it by a program of its own.
void warn_of_lost_signals(const ValidationContext& review, api::Warnings& warnings) {
    if (review.plugins.wraps_program()) return;
    for (const Json& job : review.merged_spec["replicatedJobs"].items()) {
        const Json* node = find_named(pod_spec_of(job)["containers"], api::node_container);
        if (!takes_program(job) || !node || !(*node)["lifecycle"]["preStop"].is_null()) continue;
        const Words words = command_line(*node, review.job.spec["trainer"]);
        const std::string_view shell = shell_of(words);
        if (shell.empty() || !keeps_signals(script_of(words))) continue;
        warnings.push_back(
            std::string(shell) +
            " does not pass SIGTERM on to its program: write \"exec\" before the last command, "
            "or it is killed without warning");
        return;
    }
}

constexpr Warner warners[] = {
    {Rule::shell_without_exec, warn_of_lost_signals, RuleInput::merged_template, AppliesTo::new_ones},
};

}  // namespace

constinit const std::span<const Warner> signal_warnings = warners;

}  // namespace runtime
