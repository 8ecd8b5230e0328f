#include "job/failure.hpp"

#include <utility>

namespace cli {

std::string cause_of(api::Failure failure) {
    failure.message.clear();
    return api::describe(failure);
}

std::optional<std::string> before_failure(std::string message, const api::Failure& failure) {
    const std::string line = api::describe(failure);
    if (!message.ends_with(line)) return std::nullopt;
    message.erase(message.size() - line.size());
    // It is in a sentence of its own, with some words before it.
    const std::size_t end = message.rfind(". ");
    message.erase(end == std::string::npos ? 0 : end);
    return message;
}

}  // namespace cli
