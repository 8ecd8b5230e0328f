#include "net/process/run_main.hpp"

#include <unistd.h>

#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <vector>

namespace net {
namespace {

constexpr int failed = 1;
constexpr int bad_usage = 2;

int report(const std::string& program, std::string text, int status) {
    // One line, whatever the text holds.
    for (char& c : text)
        if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    std::fprintf(stderr, "%s: %s\n", program.c_str(), text.c_str());
    return status;
}

// Returns the exit status if parse() failed or returned a text, such as --help.
std::optional<int> read_options(Options& options, int argc, const char* const* argv) {
    const auto text = options.parse({argv + 1, argv + argc});
    if (!text) return report(options.program(), api::describe(text.error()), bad_usage);
    if (!*text) return std::nullopt;
    std::fputs((*text)->c_str(), stdout);
    return 0;
}

// A signal before `body` handles it would kill the program or, as process 1 of a container, be lost.
void hold_orders_to_end() noexcept {
    sigset_t orders;
    ::sigemptyset(&orders);
    ::sigaddset(&orders, SIGTERM);
    ::sigaddset(&orders, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &orders, nullptr);
}

int or_report_exception(const Options& options, const std::function<int()>& run) noexcept {
    try {
        return run();
    } catch (const std::exception& e) {
        return report(options.program(), e.what(), failed);
    } catch (...) {
        return report(options.program(), "unknown exception", failed);
    }
}

constexpr int not_found = 127;  // as shells report a missing command

std::string folder_of_this_executable() {
    char path[PATH_MAX] = {};
    const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path - 1);
    const std::string own(path, length > 0 ? static_cast<std::size_t>(length) : 0);
    return own.substr(0, own.rfind('/') + 1);
}

}  // namespace

int run_main(Options& options, int argc, const char* const* argv,
             const std::function<api::Result<>()>& body) noexcept {
    hold_orders_to_end();
    return or_report_exception(options, [&] {
        if (const auto status = read_options(options, argc, argv)) return *status;
        if (const auto done = body(); !done)
            return report(options.program(), api::describe(done.error()), failed);
        return 0;
    });
}

int execute_moved_command(const char* server, const Sibling& sibling, const char* const* arguments) noexcept {
    std::fprintf(stderr, "%s %s is %s %s now, and goes with the next release\n", server, *arguments,
                 sibling.call, *arguments);
    try {
        const std::string path = folder_of_this_executable() + sibling.file;
        std::vector<char*> all = {const_cast<char*>(sibling.file)};
        for (; *arguments; ++arguments) all.push_back(const_cast<char*>(*arguments));
        all.push_back(nullptr);
        ::execv(path.c_str(), all.data());
        std::fprintf(stderr, "cannot execute %s: %s\n", path.c_str(), std::strerror(errno));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "cannot execute %s: %s\n", sibling.file, error.what());
    }
    return not_found;
}

}  // namespace net
