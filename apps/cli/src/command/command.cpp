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

constexpr int failed = 1;
constexpr int bad_usage = 2;

int report(const std::string& program, const std::string& text, int status) {
    print_error(Text::line(program + ": " + text));
    return status;
}

Text lines_of(std::string_view text) {
    Text lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines += Text::line(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

int run_in_full(net::Options& options, int argc, const char* const* argv,
                const std::function<api::Result<Output>()>& body) {
    const auto help = options.parse({argv + 1, argv + argc});
    if (!help) return report(options.program(), api::describe(help.error()), bad_usage);
    const auto output = *help ? api::Result<Output>(Output{.out = lines_of(**help)}) : body();
    if (!output) return report(options.program(), api::describe(output.error()), bad_usage);
    print_error(output->err);
    if (!print(output->out)) return report(options.program(), "the output cannot be written", failed);
    return output->status;
}

}  // namespace

int run_command(net::Options& options, int argc, const char* const* argv,
                const std::function<api::Result<Output>()>& body) noexcept {
    try {
        return run_in_full(options, argc, argv, body);
    } catch (const std::exception& e) {
        return report(options.program(), e.what(), failed);
    } catch (...) {
        return report(options.program(), "unknown exception", failed);
    }
}

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
