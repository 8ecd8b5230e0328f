#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explain/objects.hpp"

namespace cli {

/// A policy of the cluster that keeps an object of a TrainJob from being created.
struct PolicyRefusal {
    enum class By { webhook, unreachable_webhook, quota, admission_policy, pod_security, limit_range };

    By by = By::webhook;
    std::string name = {};     ///< of the webhook, the ResourceQuota, the policy, the level; LimitRange: ""
    std::string object = {};   ///< "JobSet vision/night", "Pods of Job night-node-0"
    std::string message = {};  ///< the policy's own words
};

/// Returns the policy that an API server's message names, without `object`. Of several, the outermost.
std::optional<PolicyRefusal> parse_policy_refusal(std::string_view message);

/// Returns the refusals that hold now, each policy once: those in the conditions Created and Stalled, and
/// those in events of the JobSet and its Jobs after which no Pod was created. None for a TrainJob that has
/// ended.
std::vector<PolicyRefusal> policy_refusals(const RelatedObjects& seen);

}  // namespace cli
