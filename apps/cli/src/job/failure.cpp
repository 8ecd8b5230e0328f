#include "job/failure.hpp"

#include <string_view>
#include <utility>

namespace cli {

std::string cause_of(api::Failure failure) {
    failure.message.clear();
    return api::describe(failure);
}

std::string verdict_of(const api::Failure& failure) {
    using enum api::FailureDecision;
    std::string text;
    if (failure.attempt > 0 || failure.decision != none) text = "attempt " + std::to_string(failure.attempt);
    if (failure.decision == none) return text;
    text += failure.decision == fail      ? "; ended the job"
            : failure.decision == restart ? "; restarted, counted"
                                          : "; restarted, not counted";
    if (failure.rule >= 0) text += " (rule " + std::to_string(failure.rule) + ")";
    if (failure.rule == api::infrastructure_rule) text += " (infrastructure)";
    if (failure.excludes_node) text += "; avoids node " + failure.node;
    return text;
}

std::optional<std::string> before_failure(std::string message, const api::Failure& failure) {
    const std::string line = api::describe(failure);
    if (!message.ends_with(line)) return std::nullopt;
    message.erase(message.size() - line.size());
    // In conditions it is in a sentence of its own, in events behind a colon.
    for (const std::string_view words : {"The first to fail: ", "The last attempt: ", ". ", ": "})
        if (message.ends_with(words)) message.erase(message.size() - words.size());
    return message;
}

}  // namespace cli
