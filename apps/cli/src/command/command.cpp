#include "command/command.hpp"

#include <algorithm>

namespace cli {
namespace {

// Options of different commands with the same name are of the same kind.
bool takes_a_word(std::string_view option, std::span<const Command> commands) {
    for (const Command& command : commands)
        for (const net::Options::Described& each : command.options())
            if (option == "--" + each.name || (each.letter != 0 && option == std::string{'-', each.letter}))
                return !each.placeholder.empty();
    return false;
}

}  // namespace

const Command* find_command(std::span<const Command> commands, std::string_view name) {
    const auto at = std::find_if(commands.begin(), commands.end(),
                                 [name](const Command& command) { return command.name == name; });
    return at == commands.end() ? nullptr : &*at;
}

std::vector<std::string> command_first(std::vector<std::string> words, std::span<const Command> commands) {
    if (words.size() > 1 && words[0] == "help" && find_command(commands, words[1]))
        return {words[1], "--help"};
    std::size_t at = 0;
    while (at < words.size() && words[at].starts_with('-')) at += takes_a_word(words[at], commands) ? 2 : 1;
    if (at < words.size() && find_command(commands, words[at])) {
        const auto command = words.begin() + static_cast<std::ptrdiff_t>(at);
        std::rotate(words.begin(), command, command + 1);
    }
    return words;
}

}  // namespace cli
