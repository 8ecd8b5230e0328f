#pragma once
#include <string_view>

#include "api/train_job.hpp"
#include "text/tone.hpp"

namespace cli {

/// Whether Pods of a TrainJob run or have ended well, as far as that is known.
enum class PodsRun { unknown, no, yes };

/// What a TrainJob is doing, in words for users.
struct Standing {
    std::string_view word = {};
    Tone tone = Tone::plain;
};

/// Returns where a TrainJob stands that has its JobSet.
Standing standing_of(PodsRun pods);

/// Returns where a TrainJob stands by its status. A job that could not be created is never "created".
Standing standing_of(const api::TrainJob& job, PodsRun pods);

/// Returns the same in one word for lists, with what is about to happen: "queued", "suspending", "resuming",
/// "being deleted".
Standing activity_of(const api::TrainJob& job, PodsRun pods);

}  // namespace cli
