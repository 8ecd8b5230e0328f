#pragma once
#include <cstdint>
#include <optional>

#include "api/time.hpp"
#include "api/train_job.hpp"
#include "lifecycle/observed.hpp"
#include "lifecycle/stall.hpp"

namespace controller {

/// What decides whether a report of progress enqueues its TrainJob.
struct ProgressIndex {
    /// Of metadata and status, but for `trainerStatus`, managedFields and the resourceVersion; the generation
    /// tells of the spec. 0: not known.
    std::uint64_t rest_hash = 0;
    std::optional<api::Time> last_progress = {};  ///< of a TrainJob with a progress deadline in force
    bool is_armed = false;                        ///< that was since its last start
    bool is_at_risk = false;                      ///< as in lifecycle::overrun()
    std::optional<lifecycle::StallReason> stalled = {};
};

/// Returns whether a change of a TrainJob is a report that no decision depends on: timers find it when they
/// pass.
bool is_mere_report(const ProgressIndex& before, const ProgressIndex& after);

}  // namespace controller
