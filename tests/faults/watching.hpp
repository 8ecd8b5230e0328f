#pragma once
#include <string>
#include <vector>

#include "api_model.hpp"

namespace faults {

/// A watch as it is opened: what it says at once, and where in the history it goes on.
struct WatchStart {
    std::vector<std::string> lines = {};
    std::size_t next_change = 0;
    bool ended = false;  ///< the history does not reach back that far
};

/// `target` as of a request: with sendInitialEvents or with a resourceVersion.
WatchStart start_watch(const ApiModel& api, const std::string& target);

std::string event_line(const Change& change);
/// 410: too old.
std::string expired_line();

}  // namespace faults
