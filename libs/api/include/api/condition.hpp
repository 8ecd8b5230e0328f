#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"
#include "api/time.hpp"

namespace api {

/// A metav1.Condition.
struct Condition {
    std::string type = {};
    std::string status = {};  ///< "True", "False" or "Unknown"
    std::string reason = {};
    std::string message = {};
    Time last_transition = {};
    std::int64_t observed_generation = 0;

    bool is_true() const { return status == "True"; }
    bool operator==(const Condition&) const = default;
};

/// Types of the TrainJob's own conditions.
namespace condition {
inline constexpr std::string_view created = "Created";
inline constexpr std::string_view suspended = "Suspended";
inline constexpr std::string_view complete = "Complete";
inline constexpr std::string_view failed = "Failed";
inline constexpr std::string_view stalled = "Stalled";        ///< never False
inline constexpr std::string_view restarting = "Restarting";  ///< never False
}  // namespace condition

/// Reasons of the TrainJob's own conditions, and of the events about them.
namespace reason {
inline constexpr std::string_view jobs_creation_succeeded = "JobsCreationSucceeded";
inline constexpr std::string_view jobs_build_failed = "JobsBuildFailed";
inline constexpr std::string_view jobs_creation_failed = "JobsCreationFailed";
inline constexpr std::string_view jobs_creation_retrying = "JobsCreationRetrying";
inline constexpr std::string_view jobs_build_retrying = "JobsBuildRetrying";
inline constexpr std::string_view permission_denied = "PermissionDenied";
inline constexpr std::string_view pod_group_unavailable = "PodGroupUnavailable";
inline constexpr std::string_view jobs_creating = "JobsCreating";
inline constexpr std::string_view suspended = "Suspended";
inline constexpr std::string_view resumed = "Resumed";
inline constexpr std::string_view deadline_exceeded = "DeadlineExceeded";
inline constexpr std::string_view jobs_not_created = "JobsNotCreated";
inline constexpr std::string_view pods_not_created = "PodsNotCreated";
inline constexpr std::string_view api_server_error = "APIServerError";
inline constexpr std::string_view waiting_for_pods = "WaitingForPods";
inline constexpr std::string_view waiting_for_deletion = "WaitingForDeletion";
inline constexpr std::string_view service_taken = "ServiceTaken";
inline constexpr std::string_view progress_deadline_exceeded = "ProgressDeadlineExceeded";
inline constexpr std::string_view runtime_not_supported = "TrainingRuntimeNotSupported";
inline constexpr std::string_view backing_off = "BackingOff";
inline constexpr std::string_view failed_by_rule = "FailJobSetFailurePolicyAction";  ///< JobSet's word
inline constexpr std::string_view reached_max_restarts = "ReachedMaxRestarts";       ///< JobSet's word
inline constexpr std::string_view too_many_uncounted = "TooManyUncountedRestarts";
}  // namespace reason

/// Returns the condition of that type; nullptr if there is none.
const Condition* find_condition(std::span<const Condition> conditions, std::string_view type);
bool is_true(std::span<const Condition> conditions, std::string_view type);

/// Returns `status.conditions` of any object, without entries that lack a type.
std::vector<Condition> parse_conditions(const Json& list);
Json to_json_tree(const Condition& condition);

}  // namespace api
