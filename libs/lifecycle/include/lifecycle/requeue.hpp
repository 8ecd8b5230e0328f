#pragma once
#include <chrono>
#include <optional>

namespace lifecycle {

inline constexpr std::chrono::seconds min_requeue{1};
/// Timers are hints: far times are looked at again on the way, which also keeps them from overflowing.
inline constexpr std::chrono::seconds max_requeue = std::chrono::hours(24);
inline constexpr std::chrono::seconds max_backoff = std::chrono::minutes(5);
/// For what goes soon without an event: the garbage of a predecessor.
inline constexpr std::chrono::seconds garbage_backoff{2};

/// 1 s after the first failure, then doubling up to max_backoff.
std::chrono::seconds backoff(int failures);

/// The sooner one, within [min_requeue, max_requeue].
std::optional<std::chrono::seconds> sooner(std::optional<std::chrono::seconds> left,
                                           std::optional<std::chrono::seconds> right);

}  // namespace lifecycle
