#pragma once
#include <optional>
#include <string>

#include "api/failure.hpp"

/// The Pods that failed first (`status.failures`), in words for users.
namespace cli {

/// Returns the line of api::describe() without what the program or the node said.
std::string cause_of(api::Failure failure);

/// Returns "attempt 2; restarted, counted (rule 0); avoids node gpu-17": the number of the attempt, and what
/// the failure policy made of it. Empty for the first attempt of a TrainJob without one.
std::string verdict_of(const api::Failure& failure);

/// The messages of a condition and of events end with the failure that they come from. Returns what stands
/// before that; nullopt if the message ends with something else.
std::optional<std::string> before_failure(std::string message, const api::Failure& failure);

}  // namespace cli
