#include "net/process/run_main.hpp"

#include <csignal>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>

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

}  // namespace net
