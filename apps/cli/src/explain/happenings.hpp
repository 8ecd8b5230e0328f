#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "api/json.hpp"
#include "api/time.hpp"

namespace cli {

/// Events with the same words: what was said of many Pods in the same words happened many times.
struct Happening {
    api::Time last = {};
    std::int64_t count = 0;
    std::string object = {};  ///< "TrainJob"; of a Job or a Pod with the name of the first
    std::string reason = {};
    std::string message = {};
    bool warning = false;
};

/// By their last time.
std::vector<Happening> happenings_of(const std::vector<api::Json>& events);

/// "Pod a  FailedMount (3 times): no volume"
std::string text_of(const Happening& happening);

}  // namespace cli
