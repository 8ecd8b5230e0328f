#pragma once
#include <cstdint>
#include <optional>

#include "api/json.hpp"
#include "api/time.hpp"
#include "api/train_job.hpp"
#include "lifecycle/observed.hpp"
#include "lifecycle/stall.hpp"

namespace controller {

/// The part of a TrainJob that decides whether a report of progress enqueues it.
struct ProgressIndex {
    /// The hash of metadata and status, but without `trainerStatus`, managedFields and the resourceVersion;
    /// the generation stands for the spec. 0: not known.
    std::uint64_t rest_hash = 0;
    std::optional<api::Time> last_progress = {};  ///< of a TrainJob with a progress deadline in force
    bool is_armed = false;                        ///< that progress was after its last start
    bool is_starting = false;  ///< not all Pods of its attempt have started: any progress may be the first
    bool is_at_risk = false;   ///< as in lifecycle::overrun()
    std::optional<lifecycle::StallReason> stalled = {};
};

/// Returns the index of a TrainJob. Reduces its `status.trainerStatus` to what deadlines need, which is
/// nothing without a deadline or `at_rest`. Removes the resourceVersion, which the store keeps beside the
/// object. `job`: the parsed object, of its spec only what these deadlines need.
ProgressIndex transform_progress(api::Json& object, const api::TrainJob& job, bool at_rest,
                                 lifecycle::ProgressWatch watch, api::Time now);

/// Returns whether a change of a TrainJob is only a report on which no decision depends now: the next timer
/// of the TrainJob looks at it.
bool is_mere_report(const ProgressIndex& before, const ProgressIndex& after);

}  // namespace controller
