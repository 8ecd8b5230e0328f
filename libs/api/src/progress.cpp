#include "api/progress.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace api {
namespace {

// A shorter time would be within the delays of reports.
constexpr std::int64_t fewest_seconds = 60;
constexpr std::int64_t most_seconds = std::numeric_limits<std::int32_t>::max();

std::optional<std::int64_t> count_at(const Json& value) {
    const auto count = value.as_int();
    return count && *count >= 0 ? count : std::nullopt;
}

std::optional<std::string> text_at(const Json& annotations, std::string_view key) {
    if (!annotations.contains(key)) return std::nullopt;
    return std::string(annotations[key].as_string());
}

std::optional<std::int64_t> read_seconds(std::string_view text) {
    const char* const end = text.data() + text.size();
    std::int64_t seconds = 0;
    const auto [rest, failed] = std::from_chars(text.data(), end, seconds);
    const bool is_number = failed == std::errc() && rest == end;
    return is_number && seconds >= fewest_seconds && seconds <= most_seconds ? std::optional(seconds)
                                                                             : std::nullopt;
}

std::optional<ProgressAction> read_action(std::string_view text) {
    if (text == "Warn") return ProgressAction::warn;
    if (text == "Fail") return ProgressAction::fail;
    if (text == "Restart") return ProgressAction::restart;
    return std::nullopt;
}

FieldError error_at(std::string_view key, const std::string& value, std::string rule) {
    return {.field = "metadata.annotations[" + std::string(key) + "]",
            .value = Json(value),
            .detail = std::move(rule)};
}

void check_seconds(std::string_view key, const std::optional<std::string>& value, FieldErrors& errors) {
    if (value && !read_seconds(*value))
        errors.push_back(error_at(key, *value,
                                  "must be a number of seconds from " + std::to_string(fewest_seconds) +
                                      " to " + std::to_string(most_seconds)));
}

}  // namespace

TrainerStatus parse_trainer_status(const Json& trainer_status) {
    TrainerStatus status = {.last_progress = as_time(trainer_status["lastProgressTime"].as_string()),
                            .last_updated = as_time(trainer_status["lastUpdatedTime"].as_string()),
                            .percentage = count_at(trainer_status["progressPercentage"]),
                            .remaining_seconds = count_at(trainer_status["estimatedRemainingSeconds"])};
    const auto& metrics = trainer_status["metrics"].items();
    for (std::size_t i = 0; i < std::min(metrics.size(), TrainerStatus::most_metrics); ++i)
        status.metrics.push_back(
            {std::string(metrics[i]["name"].as_string()), std::string(metrics[i]["value"].as_string())});
    return status;
}

ProgressAnnotations parse_progress_annotations(const Json& annotations) {
    return {.seconds = text_at(annotations, progress_seconds_annotation),
            .action = text_at(annotations, progress_action_annotation),
            .start_seconds = text_at(annotations, start_seconds_annotation)};
}

FieldErrors progress_deadline_errors(const ProgressAnnotations& annotations) {
    FieldErrors errors;
    check_seconds(progress_seconds_annotation, annotations.seconds, errors);
    check_seconds(start_seconds_annotation, annotations.start_seconds, errors);
    if (annotations.action && !read_action(*annotations.action))
        errors.push_back(
            error_at(progress_action_annotation, *annotations.action, "must be Warn, Fail or Restart"));
    if (annotations.action && !annotations.seconds && !annotations.start_seconds)
        errors.push_back(error_at(progress_action_annotation, *annotations.action,
                                  "has no effect without " + std::string(progress_seconds_annotation) +
                                      " or " + std::string(start_seconds_annotation)));
    return errors;
}

std::optional<ProgressDeadlines> parse_progress_deadlines(const ProgressAnnotations& annotations) {
    const bool has_any = annotations.seconds || annotations.start_seconds;
    if (!has_any || !progress_deadline_errors(annotations).empty()) return std::nullopt;
    return ProgressDeadlines{.progress = read_seconds(annotations.seconds.value_or("")),
                             .start = read_seconds(annotations.start_seconds.value_or("")),
                             .action = read_action(annotations.action.value_or("Warn")).value()};
}

}  // namespace api
