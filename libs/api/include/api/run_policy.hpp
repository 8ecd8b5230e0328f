#pragma once
#include <cstdint>
#include <optional>

#include "api/json.hpp"

namespace api {

/// What a runtime says of the lives of its TrainJobs, and `status.runPolicy` of a TrainJob: what it began
/// with. Members that are no time are absent.
struct RunPolicy {
    std::optional<std::int64_t> ttl_seconds_after_finished = {};      ///< of TrainJobs that have none
    std::optional<std::int64_t> max_ttl_seconds_after_finished = {};  ///< of all of them
    std::optional<std::int64_t> active_deadline_seconds = {};         ///< of TrainJobs that have none
    std::optional<std::int64_t> max_active_deadline_seconds = {};     ///< of all of them

    bool operator==(const RunPolicy&) const = default;
};

/// Of an object with the members of `spec.runPolicy`, of any shape.
RunPolicy parse_run_policy(const Json& policy);

/// Of a runtime: `spec.runPolicy`, and `spec.ttlSecondsAfterFinished` where that has no time to live.
RunPolicy run_policy_of(const Json& runtime);

/// The TrainJobs that have a runtime's times to live, as it is now: `spec.runPolicy.ttlAppliesTo`.
enum class TtlAppliesTo : std::uint8_t { new_jobs, all_jobs };
TtlAppliesTo ttl_applies_to(const Json& runtime);

/// Returns the time to live, at most the maximum, which counts also where there is none. Empty: endless.
std::optional<std::int64_t> cut_ttl(std::optional<std::int64_t> seconds, const RunPolicy& policy);

/// The runtime without `spec.runPolicy` and `spec.ttlSecondsAfterFinished`.
Json without_run_policy(Json runtime);

Json to_json_tree(const RunPolicy& policy);

}  // namespace api
