#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/failure.hpp"
#include "api/json.hpp"
#include "api/train_job.hpp"

namespace api {

/// One rule of a failure policy. What a Pod has to match is one of the three lists of conditions; a rule of
/// another shape matches none.
struct FailureRule {
    struct ExitCodes {
        std::string container = {};  ///< empty: any of them
        bool in = true;              ///< else: a code that is none of `values`, nor 0
        std::vector<std::int64_t> values = {};
    };
    struct PodCondition {
        std::string type = {};
        std::string status = {};

        bool operator==(const PodCondition&) const = default;
    };

    FailureDecision decision = FailureDecision::none;
    std::optional<ExitCodes> exit_codes = {};
    std::vector<PodCondition> conditions = {};
    std::vector<std::string> reasons = {};  ///< of the Pod, or of a container
    bool excludes_node = false;
};

/// What a failure of a TrainJob leads to: `spec.runPolicy.failurePolicy` of its runtime, with the TrainJob's
/// own `spec.failurePolicy.maxRestarts`.
struct FailurePolicy {
    std::int64_t max_restarts = 0;
    std::vector<FailureRule> rules = {};  ///< the first one that matches decides
    std::chrono::seconds first_delay{10};
    std::chrono::seconds longest_delay{300};
    std::size_t most_excluded_nodes = 3;
    std::chrono::seconds nodes_excluded_for{3600};
};

/// Returns the policy; nullopt if neither the runtime nor the TrainJob has one. Reads any shape.
std::optional<FailurePolicy> failure_policy(const Json& runtime, const Json& train_job_spec);

/// Returns the nodes that an attempt avoids which begins now: of the newest failures that exclude theirs.
/// Each of them once, sorted.
std::vector<std::string> excluded_nodes(const FailurePolicy& policy, const std::vector<Failure>& failures,
                                        Time now);

}  // namespace api
