#pragma once
#include <chrono>
#include <string>
#include <string_view>

#include "api/error.hpp"

namespace api {

/// Wall-clock time as Kubernetes stores it: UTC, whole seconds. Read by main loops only and handed down as
/// `now`.
using Time = std::chrono::sys_seconds;

/// RFC 3339 of the years 0000 to 9999 in UTC; a fraction is cut off, an offset is applied.
Result<Time> parse_time(std::string_view text);

/// "2026-01-15T10:00:00Z"; beyond those years, their first or last second.
std::string format_time(Time time);

}  // namespace api
