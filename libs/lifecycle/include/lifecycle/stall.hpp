#pragma once
#include "lifecycle/conclusion.hpp"

namespace lifecycle {

/// The reasons of `Stalled`. If there are several causes, the first one in this order gives the reason.
enum class StallReason {
    api_server_error,
    permission_denied,
    jobs_not_created,
    pods_not_created,
    waiting_for_pods,
    waiting_for_deletion,
    service_taken,
    progress_deadline_exceeded
};
inline constexpr std::size_t stall_reason_count = 8;
std::string_view name_of(StallReason reason);

/// Returns the reason of the stored condition; empty if it is not True, or has a reason that is not one of
/// these.
std::optional<StallReason> stall_reason_of(const api::TrainJob& job);

/// Returns whether this reconcile needs Outcome::explanation: the JobSet has not started, or not gone on, for
/// so long that `Stalled` may say so. True at first once that has lasted for 30 s (5 min of a job that waits
/// for others), and then at most once a minute, in the end every 30 min.
bool wants_warnings(const Observed& observed, const Decision& decision, const Outcome& outcome,
                    api::Time now);

/// Returns whether `Stalled` is to be set by counts of the JobSet, which have to be live ones and are not.
bool wants_live_view(const Observed& observed, const Decision& decision, const Outcome& outcome,
                     api::Time now);

}  // namespace lifecycle
