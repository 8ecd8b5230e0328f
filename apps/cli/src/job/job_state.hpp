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
    std::string detail = {};    ///< "3 of 6, exit code 1", "attempt 2"; empty: the word says it all
    std::string stopping = {};  ///< "stopping: 3 of 4 Pods within their grace"; empty: none is to end
    std::optional<api::Time> grace_ends = {};  ///< when those of `stopping` are killed, if it is known
};

/// Returns "fails and is retried, 3 of 6, exit code 1", "failed, " with stopping_of().
std::string text_of(const JobState& state, api::Time now);

/// Returns "stopping: 3 of 4 Pods within their grace (25s left)"; "" if none is to end.
std::string stopping_of(const JobState& state, api::Time now);

/// Returns the text behind the word without the time that is left: it stays equal as long as the Pods do.
std::string detail_of(const JobState& state);

/// The words for a suspended TrainJob: held by a queue, or by nobody else.
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
    std::int64_t nodes = 1;  ///< that train, as far as it is known
};
JobStage stage_of(const api::TrainJob& job);

/// Returns the state of a TrainJob with a JobSet that is to run.
JobState job_state_of(const PodsState& pods);

/// Returns the state of a TrainJob; of a transition, the one that it leaves. A job that could not be created
/// is never "created".
JobState job_state_of(const JobStage& job, const PodsState& pods);

/// Returns the state for lists, also of a transition: "queued", "suspending", "resuming", "being deleted";
/// with the Pods that still are to end, of a job that stands still, is to do so, waits for them, or restarts.
JobState activity_of(const JobStage& job, const PodsState& pods);

}  // namespace cli
