#pragma once
#include <optional>
#include <string>

#include "api/failure.hpp"

/// The Pods that failed first (`status.failures`), in words for users.
namespace cli {

/// Returns the line of api::describe() without what the program or the node said.
std::string cause_of(api::Failure failure);

/// The message of a condition, and of its event, ends with the failure that it comes from. Returns what
/// stands before that; nullopt if the message ends with something else.
std::optional<std::string> before_failure(std::string message, const api::Failure& failure);

}  // namespace cli
