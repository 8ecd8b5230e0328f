#include "lifecycle/requeue.hpp"

#include <algorithm>

namespace lifecycle {

std::chrono::seconds backoff(int failures) {
    std::chrono::seconds delay = min_requeue;
    for (int i = 1; i < failures && delay < max_backoff; ++i) delay *= 2;
    return std::min(delay, max_backoff);
}

std::optional<std::chrono::seconds> sooner(std::optional<std::chrono::seconds> left,
                                           std::optional<std::chrono::seconds> right) {
    if (!left && !right) return std::nullopt;
    constexpr auto never = std::chrono::seconds::max();
    return std::clamp(std::min(left.value_or(never), right.value_or(never)), min_requeue, max_requeue);
}

}  // namespace lifecycle
