#include "counted.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace {

constexpr int runs = 20;

}  // namespace

// Callgrind finds it by its name.
[[gnu::noinline]] void counted(const std::function<void()>& act) { act(); }

std::optional<int> count_instructions(int count, char** arguments, const std::vector<CountedCase>& cases) {
    const std::string_view option = count > 1 ? arguments[1] : "";
    if (option == "--cases") {
        std::printf("%d\n", runs);
        for (const CountedCase& each : cases) std::printf("%s\n", each.name.c_str());
        return 0;
    }
    if (option != "--counted" || count != 3) return std::nullopt;
    const auto found = std::find_if(cases.begin(), cases.end(),
                                    [&](const CountedCase& each) { return each.name == arguments[2]; });
    if (found == cases.end()) {
        std::fprintf(stderr, "there is no case %s\n", arguments[2]);
        return 2;
    }
    // What is allocated and computed once is no part of a run.
    if (!found->calls_counted)
        for (int i = 0; i < 3; ++i) found->act();
    for (int i = 0; i < runs; ++i)
        if (found->calls_counted)
            found->act();
        else
            counted(found->act);
    return 0;
}
