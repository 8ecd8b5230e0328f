#include "duration.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace lifecycle {

std::string to_text(std::chrono::seconds time) {
    constexpr std::pair<std::int64_t, char> units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
    std::int64_t rest = std::max<std::int64_t>(time.count(), 0);
    std::string text;
    int left = 2;
    for (const auto& [seconds, name] : units) {
        const std::int64_t count = rest / seconds;
        rest %= seconds;
        if (count > 0) text += std::to_string(count) + name;
        // The unit after the largest one counts, too.
        if (!text.empty() && --left == 0) break;
    }
    return text.empty() ? "0s" : text;
}

}  // namespace lifecycle
