#include "instructions.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace {

constexpr std::string_view collected = "Collected : ";

// For a shell.
std::string quoted(const std::string& argument) {
    std::string text = " '";
    for (const char c : argument) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

[[noreturn]] void fail(const std::string& command, const std::string& printed) {
    std::fprintf(stderr, "scaling: valgrind counted no instructions (scripts/setup installs it): %s\n%s\n",
                 command.c_str(), printed.c_str());
    std::exit(2);
}

std::uint64_t count_in_child(const std::vector<std::string>& arguments) {
    std::string command =
        "valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect='*counted_by_callgrind*'" +
        quoted(std::filesystem::read_symlink("/proc/self/exe"));
    for (const std::string& argument : arguments) command += quoted(argument);
    command += " 2>&1";
    FILE* const pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) fail(command, "popen failed");
    std::string printed;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) printed += static_cast<char>(c);
    const int status = pclose(pipe);
    const std::size_t at = printed.find(collected);
    std::uint64_t count = 0;
    if (at != std::string::npos)
        std::from_chars(printed.data() + at + collected.size(), printed.data() + printed.size(), count);
    if (status != 0 || count == 0) fail(command, printed);
    return count;
}

}  // namespace

Counts count_instructions(const std::vector<std::string>& arguments, std::size_t size) {
    std::vector<std::string> all = {"count"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const auto with = [&](std::size_t items) {
        all.push_back(std::to_string(items));
        const std::uint64_t count = count_in_child(all);
        all.pop_back();
        return count;
    };
    return {.before = with(size), .after = with(2 * size)};
}
