#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "api/json.hpp"
#include "runtime/info.hpp"

/// How long a Pod has between the request to stop, with which its preStop hook begins, and the kill.
namespace runtime {

inline constexpr std::string_view grace_period_member = "terminationGracePeriodSeconds";

/// Returns `spec.runPolicy.gracePeriodSeconds` of a runtime; nullopt if it has none. Reads any shape.
std::optional<std::int64_t> grace_period_of(const api::Json& runtime);

/// Returns the grace period of Pods as they are built: what their template says after the TrainJob's patches,
/// else that of the runtime if they run processes of the program. nullopt: the default of Kubernetes.
std::optional<std::int64_t> grace_period(const api::Json& runtime, const Info& info, const PodSet& pods);

}  // namespace runtime
