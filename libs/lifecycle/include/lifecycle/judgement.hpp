#pragma once
#include <chrono>
#include <cstdint>
#include <string_view>

#include "api/failure.hpp"

namespace lifecycle {

/// What becomes of a TrainJob whose attempt has failed.
struct Judgement {
    api::FailureDecision decision = api::FailureDecision::fail;
    std::int64_t rule = api::default_rule;
    bool excludes_node = false;
    bool ends_exclusions = false;         ///< later attempts may use the nodes that earlier failures exclude
    std::string_view reason = {};         ///< of `fail`
    std::chrono::seconds delay{0};        ///< until the next attempt
    std::int64_t failures = 0;            ///< in a row, with this one
    std::int64_t uncounted_failures = 0;  ///< in a row, with this one if it does not count

    bool restarts() const { return decision != api::FailureDecision::fail; }
    bool counts() const { return decision == api::FailureDecision::restart; }
    bool operator==(const Judgement&) const = default;
};

}  // namespace lifecycle
