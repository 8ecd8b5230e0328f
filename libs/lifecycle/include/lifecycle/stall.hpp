#pragma once
#include "lifecycle/conclusion.hpp"

namespace lifecycle {

/// The reasons of `Stalled`. Of several causes the first one of these gives it.
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

/// The reason of the stored condition; empty if it is not True, or has another one.
std::optional<StallReason> stall_reason_of(const api::TrainJob& job);

/// Whether the JobSet has not started for so long that `Stalled` says so, and its events may tell why: they
/// are to be read now, and on a live view. Once a minute.
bool wants_events(const Observed& observed, const Decision& decision, const Outcome& outcome, api::Time now);

/// How Outcome::start_events begins where the events could not be read.
inline constexpr std::string_view events_unread = "the events about it cannot be read: ";

/// Since when an event can say why the JobSet does not start, or go on, now.
api::Time events_since(const Observed& observed, api::Time now);

}  // namespace lifecycle
