#pragma once
#include <string_view>

#include "api/train_job.hpp"
#include "text/terminal.hpp"

namespace cli {

/// Whether Pods of a TrainJob run or have succeeded, if it is known.
enum class PodsRun { unknown, no, yes };

/// The state of a TrainJob in words for users.
struct JobState {
    std::string_view word = {};
    Tone tone = Tone::plain;
};

/// The word for a suspended TrainJob, if no queue holds it.
inline constexpr std::string_view suspended_word = "suspended";

/// Returns the state of a TrainJob with a JobSet.
JobState job_state_of(PodsRun pods);

/// Returns the state of a TrainJob by its status. A job that could not be created is never "created".
JobState job_state_of(const api::TrainJob& job, PodsRun pods);

/// Returns the state in one word for lists, also of a transition: "queued", "suspending", "resuming", "being
/// deleted".
JobState activity_of(const api::TrainJob& job, PodsRun pods);

}  // namespace cli
