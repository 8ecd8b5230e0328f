#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "api/json.hpp"
#include "api/time.hpp"

namespace cli {

/// Events with equal texts: equal events of many Pods count as one with a number.
struct Happening {
    api::Time last = {};
    std::int64_t count = 0;
    std::string object = {};  ///< "TrainJob"; for a Job or a Pod with the name of the first one
    std::string reason = {};
    std::string message = {};
    bool warning = false;
};

/// Sorted by their last time.
std::vector<Happening> happenings_of(const std::vector<api::Json>& events);

/// Returns "Pod a  FailedMount (3 times): no volume".
std::string text_of(const Happening& happening);

}  // namespace cli
