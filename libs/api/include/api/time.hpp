#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "api/error.hpp"

namespace api {

/// Wall-clock time as Kubernetes stores it: UTC, whole seconds. Only main loops read the clock, and pass the
/// time on as `now`.
using Time = std::chrono::sys_seconds;

/// Parses RFC 3339 of the years 0000 to 9999. Cuts off a fraction, applies an offset.
Result<Time> parse_time(std::string_view text);

/// Returns the same; empty if it is no such time.
std::optional<Time> as_time(std::string_view text);

/// Returns "2026-01-15T10:00:00Z"; for times beyond those years, their first or last second.
std::string format_time(Time time);

}  // namespace api
