#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "api/train_job.hpp"

namespace lifecycle {

/// Where a TrainJob stands, by what its status says; each is in exactly one of these.
enum class State {
    pending,  ///< nothing has been said yet
    blocked,  ///< its JobSet cannot be made, Created=False; or does not go on, Stalled
    running,  ///< it has a JobSet, which may still wait for its Pods
    suspended,
    complete,
    failed,
    elsewhere  ///< managedBy names another controller
};
inline constexpr std::size_t state_count = 7;

/// Needs `conditions`, `jobs_status` and `managed_by` of the job.
State state_of(const api::TrainJob& job);

/// Reasons of `Stalled`. The last one stands for all others.
inline constexpr std::array<std::string_view, 7> stall_reasons = {api::reason::jobs_not_created,
                                                                  api::reason::pods_not_created,
                                                                  api::reason::api_server_error,
                                                                  api::reason::permission_denied,
                                                                  api::reason::waiting_for_pods,
                                                                  api::reason::waiting_for_deletion,
                                                                  "other"};

/// The position in stall_reasons of why a TrainJob does not go on; none if it does, has ended, or is another
/// controller's. Needs what state_of() needs.
std::optional<std::uint8_t> stall_reason_of(const api::TrainJob& job);

}  // namespace lifecycle
