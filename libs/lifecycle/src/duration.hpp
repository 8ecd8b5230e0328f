#pragma once
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>

#include "api/time.hpp"

/// Times and durations: sums and differences that do not overflow, and words.
namespace lifecycle {

/// `start + seconds`; the end of time instead of an overflow. `seconds` is not negative.
inline api::Time saturating_add(api::Time start, std::int64_t seconds) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(static_cast<std::int64_t>(start.time_since_epoch().count()), seconds, &sum))
        return api::Time::max();
    return api::Time(std::chrono::seconds(sum));
}

/// Returns how long it is from `now` to `then`; zero if that has passed.
inline std::chrono::seconds time_until(api::Time then, api::Time now) {
    std::int64_t left = 0;
    if (then <= now) return std::chrono::seconds(0);
    if (__builtin_sub_overflow(static_cast<std::int64_t>(then.time_since_epoch().count()),
                               static_cast<std::int64_t>(now.time_since_epoch().count()), &left))
        return std::chrono::seconds::max();
    return std::chrono::seconds(left);
}

/// "45s", "35m", "1h30m", "2d3h": the two largest units, without zeros. Rounds down.
std::string to_text(std::chrono::seconds time);

}  // namespace lifecycle
