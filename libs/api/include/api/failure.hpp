#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"
#include "api/time.hpp"

namespace api {

/// One entry of `status.failures`: the Pod that failed first in one attempt. What is not known is empty.
struct Failure {
    std::int64_t attempt = 0;  ///< the restarts before it
    Time time = {};
    std::string pod = {};
    std::string node = {};
    std::string replicated_job = {};
    std::optional<std::int64_t> index = {};  ///< the Pod's number in its Job
    std::string container = {};
    std::optional<std::int64_t> exit_code = {};
    std::optional<std::int64_t> signal = {};
    std::string reason = {};       ///< "OOMKilled", "Evicted", "Error"
    std::string message = {};      ///< the end of the container's termination message, or the Pod's message
    std::int64_t failed_pods = 0;  ///< with this one; at least so many

    bool operator==(const Failure&) const = default;
};

/// The newest first; older ones are forgotten.
inline constexpr std::size_t most_failures = 5;

/// Reads `status.failures`. Entries without a Pod are left out.
std::vector<Failure> parse_failures(const Json& list);
Json to_json_tree(const std::vector<Failure>& failures);

/// Returns "OOMKilled, exit code 137"; a reason that says nothing is left out.
std::string exit_text(std::string_view reason, std::int64_t exit_code);

/// Returns one line for people: `Pod job-node-0-3-x7k2p on node gpu-17: OOMKilled, exit code 137: "CUDA out
/// of memory"; 7 more Pods failed`.
std::string describe(const Failure& failure);

}  // namespace api
