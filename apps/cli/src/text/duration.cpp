#include "text/duration.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace cli {

std::string format_duration(std::chrono::seconds time) {
    using Unit = std::pair<std::int64_t, const char*>;
    std::string text;
    int units = 0;
    auto left = time.count();
    for (const auto& [length, word] : {Unit{86400, "d"}, Unit{3600, "h"}, Unit{60, "m"}, Unit{1, "s"}}) {
        const std::int64_t count = left / length;
        left %= length;
        if (count == 0 && units == 0) continue;
        if (count > 0) text += (text.empty() ? "" : " ") + std::to_string(count) + word;
        if (++units == 2) break;
    }
    return text.empty() ? "0s" : text;
}

std::string short_duration(std::chrono::seconds time) {
    std::string text = format_duration(time);
    std::erase(text, ' ');
    return text;
}

std::chrono::seconds since(api::Time then, api::Time now) {
    return std::max(std::chrono::seconds(now - then), std::chrono::seconds(0));
}

}  // namespace cli
