#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/condition.hpp"

namespace lifecycle {

/// Reasons of events that are not those of a condition.
namespace event_reason {
inline constexpr std::string_view job_set_deleted = "JobSetDeleted";
inline constexpr std::string_view job_set_deletion_failed = "JobSetDeletionFailed";
inline constexpr std::string_view job_set_kept = "JobSetKept";
inline constexpr std::string_view job_set_recreated = "JobSetRecreated";
inline constexpr std::string_view jobs_replaced = "JobsReplaced";
inline constexpr std::string_view jobs_not_replaced = "JobsNotReplaced";
inline constexpr std::string_view waiting_for_jobs = "WaitingForJobs";
inline constexpr std::string_view waiting_for_pods = "WaitingForPods";
inline constexpr std::string_view waiting_for_deletion = "WaitingForDeletion";
inline constexpr std::string_view waiting_for_queue = "WaitingForQueue";
inline constexpr std::string_view resumed_by_queue = "ResumedByQueue";
inline constexpr std::string_view keys_lost = "KeysLost";
inline constexpr std::string_view deletion_blocked = "DeletionBlocked";
inline constexpr std::string_view progress_resumed = "ProgressResumed";
inline constexpr std::string_view progress_deadline_invalid = "ProgressDeadlineInvalid";
inline constexpr std::string_view deadline_at_risk = "DeadlineAtRisk";
inline constexpr std::string_view restarted = "TrainJobRestarted";
inline constexpr std::string_view clock_uncertain = "ClockUncertain";
inline constexpr std::string_view ttl_expired = "TTLExpired";
inline constexpr std::string_view reconcile_error = "ReconcileError";
inline constexpr std::string_view gpu_count_unknown = "GPUCountUnknown";
inline constexpr std::string_view runtime_field_ignored = "RuntimeFieldIgnored";
inline constexpr std::string_view train_job_field_ignored = "TrainJobFieldIgnored";
}  // namespace event_reason

enum class EventType { normal, warning };

/// An Event regarding the TrainJob, as far as policy decides it.
struct Event {
    EventType type = EventType::normal;
    std::string reason = {};
    std::string note = {};      ///< at most max_note_bytes
    bool needs_status = false;  ///< it is about a condition: send it only once the status is written

    bool operator==(const Event&) const = default;
};

inline constexpr std::size_t max_note_bytes = 1024;

/// "Normal" or "Warning", as the API writes it.
std::string_view to_string(EventType type);

/// Return an event with the note cut to max_note_bytes.
Event normal_event(std::string_view reason, std::string_view note);
Event warning_event(std::string_view reason, std::string_view note);

/// Returns an event for each changed condition of a built-in type, to be sent once the conditions are stored.
/// is_open() conditions, `Stalled` and `Restarting` have none.
std::vector<Event> condition_events(std::span<const api::Condition> before,
                                    std::span<const api::Condition> after);

}  // namespace lifecycle
