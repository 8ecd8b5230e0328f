#pragma once
#include <chrono>
#include <string>

namespace lifecycle {

/// "45s", "35m", "1h30m", "2d3h": the two largest units, without zeros. Rounds down.
std::string to_text(std::chrono::seconds time);

}  // namespace lifecycle
