#include "net/run.hpp"

#include <cstdio>
#include <exception>
#include <string>

namespace net {
namespace {

constexpr int failed = 1;
constexpr int bad_usage = 2;

int report(const std::string& program, std::string text, int status) {
    // One line, whatever the text came from.
    for (char& c : text)
        if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    std::fprintf(stderr, "%s: %s\n", program.c_str(), text.c_str());
    return status;
}

}  // namespace

int run_main(Options& options, int argc, const char* const* argv,
             const std::function<api::Result<>()>& body) noexcept {
    try {
        const auto text = options.parse({argv + 1, argv + argc});
        if (!text) return report(options.program(), api::describe(text.error()), bad_usage);
        if (*text) {
            std::fputs((*text)->c_str(), stdout);
            return 0;
        }
        if (const auto done = body(); !done)
            return report(options.program(), api::describe(done.error()), failed);
        return 0;
    } catch (const std::exception& e) {
        return report(options.program(), e.what(), failed);
    } catch (...) {
        return report(options.program(), "unknown exception", failed);
    }
}

}  // namespace net
