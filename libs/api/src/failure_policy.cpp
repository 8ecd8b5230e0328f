#include "api/failure_policy.hpp"

#include <algorithm>

namespace api {
namespace {

// The schema allows no more.
constexpr std::size_t most_rules = 20;
constexpr std::int64_t most_nodes = 5;
constexpr std::int64_t longest_delay = 86'400;
constexpr std::int64_t longest_exclusion = 604'800;

FailureDecision decision_of(std::string_view action) {
    if (action == "FailTrainJob") return FailureDecision::fail;
    if (action == "RestartTrainJob") return FailureDecision::restart;
    if (action == "RestartTrainJobAndIgnoreMaxRestarts") return FailureDecision::restart_uncounted;
    return FailureDecision::none;
}

std::optional<FailureRule::ExitCodes> exit_codes_of(const Json& codes) {
    if (!codes.is_object()) return std::nullopt;
    FailureRule::ExitCodes found = {.container = std::string(codes["containerName"].as_string()),
                                    .in = codes["operator"].as_string() != "NotIn"};
    for (const Json& value : codes["values"].items())
        if (const auto code = value.as_int()) found.values.push_back(*code);
    return found;
}

FailureRule rule_of(const Json& rule) {
    FailureRule found = {.decision = decision_of(rule["action"].as_string()),
                         .exit_codes = exit_codes_of(rule["onExitCodes"]),
                         .excludes_node = rule["excludeNode"].bool_or(false)};
    for (const Json& each : rule["onPodConditions"].items()) {
        const std::string_view status = each["status"].as_string();
        found.conditions.push_back({.type = std::string(each["type"].as_string()),
                                    .status = std::string(status.empty() ? "True" : status)});
    }
    for (const Json& reason : rule["onPodReasons"].items()) found.reasons.emplace_back(reason.as_string());
    return found;
}

std::int64_t number_or(std::int64_t fallback, const Json& value, std::int64_t most) {
    return std::clamp<std::int64_t>(value.int_or(fallback), 0, most);
}

}  // namespace

std::optional<FailurePolicy> failure_policy(const Json& runtime, const Json& train_job_spec) {
    const Json& of_runtime = runtime["spec"]["runPolicy"]["failurePolicy"];
    const Json& of_job = train_job_spec["failurePolicy"];
    if (of_runtime.is_null() && of_job.is_null()) return std::nullopt;
    FailurePolicy policy;
    const auto own = of_job["maxRestarts"].as_int();
    policy.max_restarts = std::max<std::int64_t>(0, own ? *own : of_runtime["maxRestarts"].int_or(0));
    const auto& rules = of_runtime["rules"].items();
    for (std::size_t i = 0; i < std::min(rules.size(), most_rules); ++i)
        policy.rules.push_back(rule_of(rules[i]));
    const Json& backoff = of_runtime["backoff"];
    policy.first_delay =
        std::chrono::seconds(number_or(policy.first_delay.count(), backoff["initialSeconds"], longest_delay));
    policy.longest_delay = std::max(
        policy.first_delay,
        std::chrono::seconds(number_or(policy.longest_delay.count(), backoff["maxSeconds"], longest_delay)));
    const Json& nodes = of_runtime["excludedNodes"];
    policy.most_excluded_nodes = static_cast<std::size_t>(
        number_or(static_cast<std::int64_t>(policy.most_excluded_nodes), nodes["max"], most_nodes));
    policy.nodes_excluded_for = std::chrono::seconds(
        number_or(policy.nodes_excluded_for.count(), nodes["forSeconds"], longest_exclusion));
    return policy;
}

std::vector<std::string> excluded_nodes(const FailurePolicy& policy, const std::vector<Failure>& failures,
                                        Time now) {
    std::vector<std::string> nodes;
    for (const Failure& failure : failures) {
        if (nodes.size() >= policy.most_excluded_nodes) break;
        const bool counts =
            failure.excludes_node && !failure.node.empty() && now - failure.time < policy.nodes_excluded_for;
        if (counts && std::find(nodes.begin(), nodes.end(), failure.node) == nodes.end())
            nodes.push_back(failure.node);
    }
    std::sort(nodes.begin(), nodes.end());
    return nodes;
}

}  // namespace api
