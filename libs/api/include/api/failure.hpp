#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"
#include "api/time.hpp"

namespace api {

/// What the failure policy has decided. A job without one ends.
enum class FailureDecision : std::uint8_t { none, restart, restart_uncounted, fail };

/// Failure::rule of what no rule of the policy has decided.
inline constexpr std::int64_t default_rule = -1;
inline constexpr std::int64_t infrastructure_rule = -2;

/// Failure::reason of an attempt that has ended although no Pod had failed; another one is
/// reason::progress_deadline_exceeded.
inline constexpr std::string_view no_node_left = "NoNodeLeft";

/// Failure::reason of a Pod that was preempted, evicted or drained, also where no Pod is left to say it.
inline constexpr std::string_view disrupted = "DisruptionTarget";

/// One entry of `status.failures`: the Pod that failed first in one attempt. What is not known is empty.
struct Failure {
    std::int64_t attempt = 0;  ///< the restarts before it
    Time time = {};
    std::string pod = {};  ///< empty: none has failed, or none is left: then `message` is the JobSet's
    std::string node = {};
    std::string replicated_job = {};
    std::optional<std::int64_t> index = {};  ///< the Pod's number in its Job
    std::string container = {};
    std::optional<std::int64_t> exit_code = {};
    std::optional<std::int64_t> signal = {};
    std::string reason = {};       ///< "OOMKilled", "Evicted", "Error"
    std::string message = {};      ///< the end of the container's termination message, or the Pod's message
    std::int64_t failed_pods = 0;  ///< with this one; at least so many
    FailureDecision decision = FailureDecision::none;
    std::int64_t rule = default_rule;  ///< its index, or one of the above; with a decision
    bool excludes_node = false;        ///< later attempts avoid the node

    bool operator==(const Failure&) const = default;
};

/// The newest first; older ones are forgotten.
inline constexpr std::size_t most_failures = 5;

/// Reads `status.failures`. Entries without a time are left out.
std::vector<Failure> parse_failures(const Json& list);
Json to_json_tree(const std::vector<Failure>& failures);

/// Returns "OOMKilled, exit code 137"; a reason that says nothing is left out.
std::string exit_text(std::string_view reason, std::int64_t exit_code);

/// Returns whether a Pod has failed, be it gone. Else `reason` and `message` say why the attempt has ended.
bool is_of_pod(const Failure& failure);

/// Returns one line for people: `Pod job-node-0-3-x7k2p on node gpu-17: OOMKilled, exit code 137: "CUDA out
/// of memory"; 7 more Pods failed`. Without a Pod: `a Pod was disrupted ...`, or `no failed Pod is left:
/// jobset failed ...`. If it is not of a Pod: the message, without one the reason.
std::string describe(const Failure& failure);

}  // namespace api
