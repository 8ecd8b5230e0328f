#pragma once
#include <chrono>
#include <string>

#include "api/time.hpp"

namespace cli {

/// Returns "2d 3h", "5m 10s", "0s": the two largest units.
std::string format_duration(std::chrono::seconds time);

/// Returns "2d3h", "5m10s": the same for a column of a table.
std::string short_duration(std::chrono::seconds time);

/// Returns the time from then to now, never negative.
std::chrono::seconds since(api::Time then, api::Time now);

}  // namespace cli
