#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/train_job.hpp"
#include "job/pods.hpp"
#include "lifecycle/state.hpp"
#include "text/terminal.hpp"

namespace cli {

/// The state of a TrainJob in words for users.
struct JobState {
    std::string_view word = {};
    Tone tone = Tone::plain;
    std::string detail = {};  ///< "3 of 6, exit code 1", "attempt 2"; empty: the word says it all
};

/// Returns "fails and is retried, 3 of 6, exit code 1".
std::string text_of(const JobState& state);

/// The words for a suspended TrainJob without running programs: held by a queue, or by nobody else.
inline constexpr std::string_view queued_word = "queued";
inline constexpr std::string_view suspended_word = "suspended";

/// What a TrainJob says of its own state.
struct JobStage {
    lifecycle::State state = lifecycle::State::pending;
    bool is_stalled = false;
    bool lacks_verdict = false;  ///< it is not known whether its JobSet was created
    bool is_deleted = false;
    bool suspend = false;  ///< `spec.suspend`
    bool is_queued = false;
    /// Of a running one whose attempt has failed: the number of the next attempt, until that has Pods.
    std::optional<std::int64_t> next_attempt = {};
};
JobStage stage_of(const api::TrainJob& job);

/// Returns the state of a TrainJob with a JobSet that is to run.
JobState job_state_of(const PodsState& pods);

/// Returns the state of a TrainJob; of a transition, the one that it leaves. A job that could not be created
/// is never "created".
JobState job_state_of(const JobStage& job, const PodsState& pods);

/// Returns the state for lists, also of a transition: "queued", "suspending", "resuming", "being deleted". A
/// job is suspending until the last of its Pods has ended.
JobState activity_of(const JobStage& job, const PodsState& pods);

}  // namespace cli
