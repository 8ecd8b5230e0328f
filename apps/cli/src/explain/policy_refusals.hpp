#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explain/objects.hpp"

namespace cli {

/// What of the cluster keeps an object of a TrainJob from being created.
struct PolicyRefusal {
    enum class By {
        webhook,
        unreachable_webhook,
        quota,
        admission_policy,
        pod_security,
        limit_range,
        default_limit,  ///< a LimitRange gives containers a limit that is less than what they request
        security_context_constraints,
        missing_object,  ///< the Pod names an object that does not exist; `message` is empty
    };

    By by = By::webhook;
    /// Of the webhook, the ResourceQuota, the policy, the level; "PriorityClass high" of a missing object; ""
    /// of a LimitRange and of security context constraints.
    std::string name = {};
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
