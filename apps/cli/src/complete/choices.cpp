#include <algorithm>

#include "complete/complete.hpp"

namespace cli {
namespace {

using Described = net::Options::Described;

// Directives of cobra, which kubectl uses: whether the shell offers files, or directories.
constexpr const char* files_too = ":0";
constexpr const char* no_files = ":4";
constexpr const char* directories_only = ":16";

const Described* find(const std::vector<Described>& options, std::string_view word) {
    const auto at = std::find_if(options.begin(), options.end(), [&](const Described& option) {
        const bool is_short = word.size() == 2 && option.letter != 0 && word[1] == option.letter;
        return word == "--" + option.name || is_short;
    });
    return at == options.end() || !word.starts_with('-') ? nullptr : &*at;
}

void add_values(const Described& option, Choices& choices) {
    using Ask = Choices::Ask;
    std::string_view rest = option.placeholder;
    if (rest.find('|') == std::string_view::npos) {
        choices.ask = rest == "NAMESPACE"        ? Ask::namespaces
                      : rest == "FILE"           ? Ask::files
                      : rest == "DIR"            ? Ask::directories
                      : option.name == "runtime" ? Ask::runtimes
                      : option.name == "context" ? Ask::contexts
                      : option.name == "cluster" ? Ask::clusters
                      : option.name == "user"    ? Ask::users
                                                 : Ask::nothing;
        return;
    }
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('|'), rest.size());
        choices.words.emplace_back(rest.substr(0, end), "");
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
}

// `words`: after the command, without the last one.
bool has_argument(const std::vector<Described>& options, std::span<const std::string> words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (!words[i].starts_with('-')) return true;
        const Described* option = find(options, words[i]);
        if (option && !option->placeholder.empty()) ++i;
    }
    return false;
}

}  // namespace

Choices choices_for(std::span<const std::string> words, std::span<const Command> commands) {
    Choices choices;
    if (words.size() <= 1) {
        for (const Command& command : commands) choices.words.emplace_back(command.name, command.about);
        return choices;
    }
    const Command* command = find_command(commands, words.front());
    if (!command) return choices;
    const std::vector<Described> options = command->options();
    const std::string& last = words.back();
    const Described* before = words.size() > 2 ? find(options, words[words.size() - 2]) : nullptr;
    if (before && !before->placeholder.empty()) {
        add_values(*before, choices);
    } else if (const std::size_t equals = last.find('=');
               last.starts_with("--") && equals != std::string::npos) {
        choices.prefix = last.substr(0, equals + 1);
        if (const Described* option = find(options, last.substr(0, equals))) add_values(*option, choices);
    } else if (last.starts_with('-')) {
        for (const Described& option : options) choices.words.emplace_back("--" + option.name, option.help);
    } else if (command->argument[0] != '\0') {
        const bool several = std::string_view(command->argument).ends_with("...");
        if (several || !has_argument(options, words.subspan(1, words.size() - 2)))
            choices.ask = Choices::Ask::train_jobs;
    }
    return choices;
}

Text completion_lines(const Choices& choices, std::string_view last) {
    Text text;
    for (const auto& [word, about] : choices.words) {
        const std::string whole = choices.prefix + word;
        if (!whole.starts_with(last)) continue;
        text += Text::output(whole + (about.empty() ? "" : "\t" + about), Colours::no);
    }
    return text + Text::line(choices.ask == Choices::Ask::files         ? files_too
                             : choices.ask == Choices::Ask::directories ? directories_only
                                                                        : no_files);
}

}  // namespace cli
