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
    progress_deadline_exceeded
};
inline constexpr std::size_t stall_reason_count = 7;
std::string_view name_of(StallReason reason);

/// Returns the reason of the stored condition; empty if it is not True, or has a reason that is not one of
/// these.
std::optional<StallReason> stall_reason_of(const api::TrainJob& job);

/// Returns whether to read the events about the JobSet now, on a live view: it has not started for so long
/// that `Stalled` says so, and its events may say why. Once a minute at first, or every 5 min if one of its
/// jobs waits for others, and every 30 min in the end.
bool wants_events(const Observed& observed, const Decision& decision, const Outcome& outcome, api::Time now);

/// Returns whether `Stalled` is to be set by counts of the JobSet alone, which therefore have to be live
/// ones.
bool wants_live_view(const Observed& observed, const Decision& decision, const Outcome& outcome,
                     api::Time now);

/// The beginning of Outcome::start_events if the events could not be read.
inline constexpr std::string_view events_unread = "the events about it cannot be read: ";

/// Returns since when an event can say why the JobSet does not start, or go on, now.
api::Time events_since(const Observed& observed, api::Time now);

}  // namespace lifecycle
