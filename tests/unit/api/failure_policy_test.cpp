#include "api/failure_policy.hpp"

#include <catch2/catch.hpp>

#include "support/printers.hpp"

namespace api {
namespace {

using namespace std::chrono_literals;

Json parsed(const std::string& text) { return parse_json(text).value(); }

Json runtime_with(const std::string& policy) {
    return parsed(R"({"spec": {"runPolicy": {"failurePolicy": )" + policy + "}}}");
}

std::optional<FailurePolicy> policy_of(const std::string& runtime, const std::string& job = "null") {
    return failure_policy(runtime_with(runtime), parsed(R"({"failurePolicy": )" + job + "}"));
}

FailureRule rule_of(const std::string& rule) {
    return policy_of(R"({"rules": [)" + rule + "]}")->rules.at(0);
}

const Time now = as_time("2026-01-15T10:00:00Z").value();

Failure failure_on(const char* node, std::chrono::seconds ago, bool excludes = true) {
    return {.time = now - ago, .pod = "p", .node = node, .excludes_node = excludes};
}

}  // namespace

TEST_CASE("a policy of the runtime or of the TrainJob puts failures under a policy", "[failure]") {
    CHECK_FALSE(policy_of("null"));
    CHECK_FALSE(failure_policy(Json(), Json()));
    CHECK_FALSE(failure_policy(Json("text"), Json(7)));
    CHECK(policy_of("{}"));
    CHECK(policy_of("null", "{}"));
}

TEST_CASE("the TrainJob's number of restarts replaces the runtime's", "[failure]") {
    struct Case {
        const char* runtime;
        const char* job;
        std::int64_t restarts;
    };
    const Case cases[] = {{"{}", "null", 0},
                          {R"({"maxRestarts": 2})", "null", 2},
                          {R"({"maxRestarts": 2})", "{}", 2},
                          {R"({"maxRestarts": 2})", R"({"maxRestarts": 5})", 5},
                          {R"({"maxRestarts": 2})", R"({"maxRestarts": 0})", 0},
                          {"null", R"({"maxRestarts": 4})", 4},
                          {R"({"maxRestarts": -2})", "null", 0},
                          {R"({"maxRestarts": "2"})", R"({"maxRestarts": -1})", 0}};
    for (const Case& c : cases) DYNAMIC_SECTION(c.runtime << " " << c.job) {
            CHECK(policy_of(c.runtime, c.job)->max_restarts == c.restarts);
        }
}

TEST_CASE("what a policy does not say has a default, and each number its bounds", "[failure]") {
    struct Case {
        const char* policy;
        std::chrono::seconds first;
        std::chrono::seconds longest;
        std::size_t nodes;
        std::chrono::seconds excluded_for;
    };
    const Case cases[] = {
        {"{}", 10s, 300s, 3, 1h},
        {R"({"backoff": {}, "excludedNodes": {}})", 10s, 300s, 3, 1h},
        {R"({"backoff": {"initialSeconds": 0, "maxSeconds": 0}, "excludedNodes": {"max": 0, "forSeconds": 0}})",
         0s, 0s, 0, 0s},
        {R"({"backoff": {"initialSeconds": 20}, "excludedNodes": {"max": 5}})", 20s, 300s, 5, 1h},
        {R"({"backoff": {"initialSeconds": 400}, "excludedNodes": {"forSeconds": 604800}})", 400s, 400s, 3,
         168h},
        {R"({"backoff": {"maxSeconds": 5}})", 10s, 10s, 3, 1h},
        {R"({"backoff": {"initialSeconds": 86401, "maxSeconds": 4000000000},
             "excludedNodes": {"max": 6, "forSeconds": 604801}})",
         24h, 24h, 5, 168h},
        {R"({"backoff": {"initialSeconds": -1, "maxSeconds": -1},
             "excludedNodes": {"max": -1, "forSeconds": -1}})",
         0s, 0s, 0, 0s},
        {R"({"backoff": [], "excludedNodes": "many"})", 10s, 300s, 3, 1h},
        {R"({"backoff": {"initialSeconds": "1", "maxSeconds": null}, "excludedNodes": {"max": 1.5}})", 10s,
         300s, 3, 1h}};
    for (const Case& c : cases) {
        INFO(c.policy);
        const FailurePolicy policy = policy_of(c.policy).value();
        CHECK(policy.first_delay == c.first);
        CHECK(policy.longest_delay == c.longest);
        CHECK(policy.most_excluded_nodes == c.nodes);
        CHECK(policy.nodes_excluded_for == c.excluded_for);
    }
}

TEST_CASE("each action is a decision, and any other one is none", "[failure]") {
    const auto decision = [](const std::string& action) {
        return rule_of(R"({"action": )" + action + "}").decision;
    };
    CHECK(decision(R"("FailTrainJob")") == FailureDecision::fail);
    CHECK(decision(R"("RestartTrainJob")") == FailureDecision::restart);
    CHECK(decision(R"("RestartTrainJobAndIgnoreMaxRestarts")") == FailureDecision::restart_uncounted);
    CHECK(decision(R"("Ignore")") == FailureDecision::none);
    CHECK(decision("3") == FailureDecision::none);
}

TEST_CASE("the rules are read in their order", "[failure]") {
    const FailurePolicy policy = policy_of(R"({"rules": [
        {"action": "FailTrainJob", "onExitCodes": {"containerName": "node", "operator": "NotIn", "values": [3, "x", 4]}},
        {"action": "RestartTrainJob", "onPodConditions": [{"type": "Slow", "status": "False"}, {"type": "Hot"}]},
        {"action": "RestartTrainJob", "onPodReasons": ["OOMKilled", "Evicted"], "excludeNode": true}]})")
                                     .value();
    REQUIRE(policy.rules.size() == 3);
    REQUIRE(policy.rules[0].exit_codes);
    CHECK(policy.rules[0].exit_codes->container == "node");
    CHECK_FALSE(policy.rules[0].exit_codes->in);
    CHECK(policy.rules[0].exit_codes->values == std::vector<std::int64_t>{3, 4});
    CHECK_FALSE(policy.rules[0].excludes_node);
    CHECK_FALSE(policy.rules[1].exit_codes);
    CHECK(policy.rules[1].conditions ==
          std::vector<FailureRule::PodCondition>{{"Slow", "False"}, {"Hot", "True"}});
    CHECK(policy.rules[2].reasons == std::vector<std::string>{"OOMKilled", "Evicted"});
    CHECK(policy.rules[2].excludes_node);
}

TEST_CASE("a policy of any shape is read, and of no more rules than there may be", "[failure]") {
    for (const char* policy : {"[]", "7", R"({"rules": {}})", R"({"rules": "x"})"}) {
        INFO(policy);
        CHECK(policy_of(policy)->rules.empty());
    }
    for (const char* rule :
         {"null", "7", "[]", R"({"onExitCodes": [], "onPodConditions": {}, "onPodReasons": 3})"}) {
        INFO(rule);
        const FailureRule read = rule_of(rule);
        CHECK(read.decision == FailureDecision::none);
        CHECK_FALSE(read.exit_codes);
        CHECK(read.conditions.empty());
        CHECK(read.reasons.empty());
    }
    std::string rules = "{}";
    for (int i = 1; i < 30; ++i) rules += ", {}";
    CHECK(policy_of(R"({"rules": [)" + rules + "]}")->rules.size() == 20);
}

TEST_CASE("an attempt avoids the nodes that the newest failures exclude", "[failure]") {
    struct Case {
        const char* name;
        std::vector<Failure> failures;  // newest first
        std::vector<std::string> want;
    };
    const Case cases[] = {
        {"none", {}, {}},
        {"one that excludes none", {failure_on("a", 1s, false)}, {}},
        {"a Pod that had no node", {failure_on("", 1s)}, {}},
        {"in the order of their names",
         {failure_on("c", 1s), failure_on("a", 2s), failure_on("b", 3s)},
         {"a", "b", "c"}},
        {"each of them once", {failure_on("b", 1s), failure_on("b", 2s), failure_on("a", 3s)}, {"a", "b"}},
        {"no more than the policy says",
         {failure_on("d", 1s), failure_on("d", 1s), failure_on("c", 2s), failure_on("x", 2s, false),
          failure_on("b", 3s), failure_on("a", 4s)},
         {"b", "c", "d"}},
        {"until the exclusion ends", {failure_on("b", 3599s), failure_on("a", 3600s)}, {"b"}},
        {"by the clock of a node that is ahead", {failure_on("a", -60s)}, {"a"}},
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            CHECK(excluded_nodes(FailurePolicy(), c.failures, now) == c.want);
        }
    CHECK(excluded_nodes({.most_excluded_nodes = 0}, {failure_on("a", 1s)}, now).empty());
    CHECK(excluded_nodes({.nodes_excluded_for = 0s}, {failure_on("a", 1s)}, now).empty());
    CHECK(excluded_nodes({.nodes_excluded_for = 2h}, {failure_on("a", 3600s)}, now).size() == 1);
}

}  // namespace api
