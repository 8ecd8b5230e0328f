#pragma once
#include <string>

#include "api/json.hpp"
#include "api/time.hpp"

/// The time of tests about TrainJobs and their Pods, and how they write objects.
namespace cli {

inline const api::Time now = api::parse_time("2026-01-15T12:00:00Z").value();

inline api::Json parsed(const std::string& text) { return api::parse_json(text).value(); }

/// `status.failures` of a TrainJob that failed half an hour before `now`, and the message of its condition.
inline api::Json failures() {
    return parsed(
        R"([{"attempt": 2, "time": "2026-01-15T11:29:50Z", "pod": "night-node-0-3-x", "node": "gpu-17",
        "replicatedJob": "node", "index": 3, "container": "node", "exitCode": 137, "signal": 9,
        "reason": "OOMKilled", "message": "killed at step 40", "failedPods": 8}])");
}
inline constexpr const char* failed_message =
    "jobset failed due to one or more job failures. The first to fail: Pod night-node-0-3-x on node gpu-17: "
    "OOMKilled, exit code 137: \"killed at step 40\"; 7 more Pods failed";

}  // namespace cli
