#pragma once
#include <chrono>
#include <optional>

namespace lifecycle {

inline constexpr std::chrono::seconds min_requeue{1};
/// The longest wait: later times are looked at again on the way, which also keeps them from overflowing.
inline constexpr std::chrono::seconds max_requeue = std::chrono::hours(24);
inline constexpr std::chrono::seconds max_backoff = std::chrono::minutes(5);
/// The wait for an object that soon disappears without a watch event: the garbage of an earlier TrainJob.
inline constexpr std::chrono::seconds garbage_backoff{2};

/// The wait for a certain clock, once a time limit has passed by an uncertain one.
inline constexpr std::chrono::seconds clock_recheck{10};

/// Returns the wait after a failure: 1 s after the first one, then doubled up to max_backoff.
std::chrono::seconds backoff(int failures);

/// Returns the sooner one, within [min_requeue, max_requeue].
std::optional<std::chrono::seconds> sooner(std::optional<std::chrono::seconds> left,
                                           std::optional<std::chrono::seconds> right);

}  // namespace lifecycle
