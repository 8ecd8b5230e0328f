#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_error.hpp"
#include "api/json.hpp"
#include "api/time.hpp"

/// The progress that training code reports of its TrainJob, and the longest times without any.
namespace api {

/// `status.trainerStatus`, as far as decisions and their texts depend on it.
struct TrainerStatus {
    struct Metric {
        std::string name = {};
        std::string value = {};

        bool operator==(const Metric&) const = default;
    };
    static constexpr std::size_t most_metrics = 3;

    std::optional<Time> last_progress = {};  ///< lastProgressTime, by the clock of the server of reports
    std::optional<Time> last_updated = {};   ///< lastUpdatedTime, by the clock of the training code
    std::optional<std::int64_t> percentage = {};
    std::optional<std::int64_t> remaining_seconds = {};
    std::vector<Metric> metrics = {};  ///< the first ones, most_metrics at most

    bool operator==(const TrainerStatus&) const = default;
};

/// Skips values of another type, and negative ones.
TrainerStatus parse_trainer_status(const Json& trainer_status);

/// Annotations of TrainJobs. Kueue, which starts TrainJobs by a PUT of its own Go type, keeps them.
inline constexpr std::string_view progress_seconds_annotation =
    "trainer.kubeflow.org/progress-deadline-seconds";
inline constexpr std::string_view progress_action_annotation =
    "trainer.kubeflow.org/progress-deadline-action";
inline constexpr std::string_view start_seconds_annotation = "trainer.kubeflow.org/start-deadline-seconds";

/// Their values as they are stored.
struct ProgressAnnotations {
    std::optional<std::string> seconds = {};
    std::optional<std::string> action = {};
    std::optional<std::string> start_seconds = {};

    bool operator==(const ProgressAnnotations&) const = default;
};

ProgressAnnotations parse_progress_annotations(const Json& annotations);

/// What becomes of a TrainJob without progress. Without a failure policy, a restart is a failure.
enum class ProgressAction { warn, fail, restart };

/// At least one of the two limits is set.
struct ProgressDeadlines {
    std::optional<std::int64_t> progress = {};  ///< seconds without progress, from the first report on
    std::optional<std::int64_t> start = {};  ///< seconds until the first report, once all Pods have started
    ProgressAction action = ProgressAction::warn;

    bool operator==(const ProgressDeadlines&) const = default;
};

/// Returns the errors of the annotations, with the field "metadata.annotations[KEY]".
FieldErrors progress_deadline_errors(const ProgressAnnotations& annotations);

/// Returns nullopt without the annotations, and if any of them has errors.
std::optional<ProgressDeadlines> parse_progress_deadlines(const ProgressAnnotations& annotations);

}  // namespace api
