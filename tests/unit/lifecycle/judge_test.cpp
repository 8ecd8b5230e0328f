#include "lifecycle/judge.hpp"

#include "objects.hpp"
#include "text.hpp"

namespace lifecycle {
namespace {

api::FailurePolicy policy_of(const std::string& members) {
    const std::string text = R"({"spec": {"runPolicy": {"failurePolicy": {)" + members + "}}}}";
    return api::failure_policy(api::parse_json(text).value(), api::Json()).value();
}

// Any number of restarts is left.
api::FailurePolicy rules(const std::string& rules) {
    return policy_of(R"("maxRestarts": 1000, "rules": [)" + rules + "]");
}

FailedPod exited(std::int64_t code, const char* reason = "Error") {
    return {.failure = {.time = start + 50s,
                        .pod = "job-node-0-1",
                        .node = "gpu-1",
                        .container = "node",
                        .exit_code = code,
                        .reason = reason},
            .exits = {{"node", code, reason}},
            .has_container_status = true};
}

// As it is without a reason, if that is empty.
FailedPod of_node(const std::string& reason, bool has_containers = false) {
    return {.failure = {.time = start + 50s,
                        .pod = "job-node-0-1",
                        .node = "gpu-1",
                        .reason = reason.empty() ? "Error" : reason},
            .of_node = reason,
            .has_container_status = has_containers};
}

FailedPod with_condition(FailedPod pod, const char* type, const char* status = "True") {
    pod.conditions.push_back({type, status});
    return pod;
}

constexpr const char* failed = "ReachedMaxRestarts";
constexpr const char* disrupted = "FailJobSetFailurePolicyAction";

// "restart by rule 0", "fail by rule 1: FailJobSetFailurePolicyAction", "restart uncounted by rule -2 without
// the node".
std::string text(const Judgement& judgement) {
    const std::string rule = " by rule " + std::to_string(judgement.rule);
    if (!judgement.restarts())
        return "fail" + rule + ": " + std::string(judgement.reason) +
               (judgement.excludes_node ? " without the node" : "");
    return (judgement.counts() ? "restart" : "restart uncounted") + rule +
           (judgement.excludes_node ? " without the node" : "");
}

Judgement judge_first(const api::FailurePolicy& policy, const FailedPod* first, const char* reason = failed,
                      const api::Restarts& so_far = {}, const api::Attempt& attempt = {}) {
    return judge(policy, *failed_attempt(0, reason).job_set, first, so_far, attempt);
}

struct Case {
    const char* name;
    std::string rules;
    std::optional<FailedPod> pod;
    const char* want;
    const char* job_set = failed;
};

void check(const Case& c) {
    DYNAMIC_SECTION(c.name) {
        CHECK(text(judge_first(rules(c.rules), c.pod ? &*c.pod : nullptr, c.job_set)) == c.want);
    }
}

constexpr const char* by_rule_0 = "restart uncounted by rule 0";
constexpr const char* by_default = "restart by rule -1";
constexpr const char* of_infrastructure = "restart uncounted by rule -2";

// A rule on which the job goes on, or ends.
std::string goes_on(const std::string& members) {
    return R"({"action": "RestartTrainJobAndIgnoreMaxRestarts", )" + members + "}";
}
std::string ends(const std::string& members) { return R"({"action": "FailTrainJob", )" + members + "}"; }

}  // namespace

TEST_CASE("the first rule that matches decides", "[judge]") {
    constexpr const char* three =
        R"({"action": "RestartTrainJob", "onExitCodes": {"operator": "In", "values": [1]}},
           {"action": "FailTrainJob", "onExitCodes": {"operator": "In", "values": [1, 2]}},
           {"action": "RestartTrainJobAndIgnoreMaxRestarts", "onExitCodes": {"operator": "NotIn", "values": [7]}})";
    const Case cases[] = {
        {"no rule at all", "", exited(1), by_default},
        {"the first one", three, exited(1), "restart by rule 0"},
        {"the second one", three, exited(2), "fail by rule 1: FailJobSetFailurePolicyAction"},
        {"the third one", three, exited(3), "restart uncounted by rule 2"},
        {"none of them", three, exited(7), by_default},
        {"a rule without an action is none",
         R"({"onExitCodes": {"operator": "In", "values": [1]}},
            {"action": "RestartTrainJob", "onExitCodes": {"operator": "In", "values": [1]}})",
         exited(1), "restart by rule 1"},
        {"a rule without a condition matches none", goes_on(R"("excludeNode": false)"), exited(1),
         by_default},
        {"a rule decides about infrastructure, too",
         ends(R"("onPodConditions": [{"type": "DisruptionTarget"}])"),
         with_condition(exited(143), "DisruptionTarget"), "fail by rule 0: FailJobSetFailurePolicyAction"},
        {"and about the default", R"({"action": "RestartTrainJob", "onPodReasons": ["Evicted"]})",
         of_node("Evicted"), "restart by rule 0"},
    };
    for (const Case& c : cases) check(c);
}

TEST_CASE("exit codes of containers match a rule", "[judge]") {
    const std::string in = goes_on(R"("onExitCodes": {"operator": "In", "values": [42, 137, 0]})");
    const std::string not_in = goes_on(R"("onExitCodes": {"operator": "NotIn", "values": [42]})");
    const std::string in_node =
        goes_on(R"("onExitCodes": {"containerName": "node", "operator": "In", "values": [42]})");
    const std::string not_in_node =
        goes_on(R"("onExitCodes": {"containerName": "node", "operator": "NotIn", "values": [42]})");
    FailedPod with_sidecar = exited(1);
    with_sidecar.exits.push_back({"log", 42, "Error"});
    FailedPod sidecar_ended = exited(42);
    sidecar_ended.exits.push_back({"log", 0, "Completed"});
    FailedPod by_sidecar = sidecar_ended;
    by_sidecar.exits = {{"node", 0, "Completed"}, {"log", 42, "Error"}};
    const Case cases[] = {
        {"In: one of them", in, exited(137), by_rule_0},
        {"In: another one", in, exited(1), by_default},
        {"In: 0 is no failure", in, sidecar_ended, by_rule_0},
        {"In: 0 alone is none", in, with_condition(exited(0), "Ready"), by_default},
        {"In: of any container", in, with_sidecar, by_rule_0},
        {"In: of the container alone", in_node, with_sidecar, by_default},
        {"In: of that container", in_node, exited(42), by_rule_0},
        {"NotIn: another one", not_in, exited(1), by_rule_0},
        {"NotIn: one of them", not_in, exited(42), by_default},
        {"NotIn: 0 is no failure", not_in, sidecar_ended, by_default},
        {"NotIn: of any container", not_in, with_sidecar, by_rule_0},
        {"NotIn: of the container alone", not_in_node, with_sidecar, by_rule_0},
        {"NotIn: the other container counts for nothing", not_in_node, by_sidecar, by_default},
        {"a Pod of which no container ran", not_in, of_node("SysctlForbidden"), by_default},
        {"no Pod is left", not_in, std::nullopt, by_default},
    };
    for (const Case& c : cases) check(c);
}

TEST_CASE("conditions of the Pod match a rule", "[judge]") {
    const std::string lost =
        goes_on(R"("onPodConditions": [{"type": "Slow", "status": "False"}, {"type": "GpuLost"}])");
    const std::string disruption = ends(R"("onPodConditions": [{"type": "DisruptionTarget"}])");
    const std::string no_disruption =
        ends(R"("onPodConditions": [{"type": "DisruptionTarget", "status": "False"}])");
    constexpr const char* fails = "fail by rule 0: FailJobSetFailurePolicyAction";
    const Case cases[] = {
        {"one that is True", lost, with_condition(exited(1), "GpuLost"), by_rule_0},
        {"one that is not", lost, with_condition(exited(1), "GpuLost", "False"), by_default},
        {"one that is to be False", lost, with_condition(exited(1), "Slow", "False"), by_rule_0},
        {"one that is to be False, and is not", lost, with_condition(exited(1), "Slow"), by_default},
        {"none", lost, exited(1), by_default},
        {"no Pod is left", lost, std::nullopt, by_default},
        {"a disruption", disruption, with_condition(exited(143), "DisruptionTarget"), fails},
        {"a disruption of which no Pod is left", disruption, std::nullopt, fails, disrupted},
        {"a disruption of a Pod that is gone, and a peer that failed", disruption, exited(1), fails,
         disrupted},
        {"no disruption, and no Pod is left", disruption, std::nullopt, by_default},
        {"the opposite of a disruption", no_disruption, std::nullopt, of_infrastructure, disrupted},
    };
    for (const Case& c : cases) check(c);
}

TEST_CASE("reasons of the Pod and of its containers match a rule", "[judge]") {
    const std::string reasons = goes_on(R"("onPodReasons": ["OOMKilled", "SysctlForbidden"])");
    FailedPod sidecar = exited(1);
    sidecar.exits.push_back({"log", 137, "OOMKilled"});
    FailedPod evicted = of_node("Evicted", true);
    evicted.exits = {{"node", 137, "OOMKilled"}};
    const Case cases[] = {
        {"of its container", reasons, exited(137, "OOMKilled"), by_rule_0},
        {"of another container", reasons, sidecar, by_rule_0},
        {"of the Pod", reasons, of_node("SysctlForbidden"), by_rule_0},
        {"of a container in a Pod with a reason", reasons, evicted, by_rule_0},
        {"another one", reasons, exited(1), by_default},
        {"a part of one", goes_on(R"("onPodReasons": ["OOM"])"), exited(137, "OOMKilled"), by_default},
        {"a Pod without any", goes_on(R"("onPodReasons": ["Error"])"), exited(1), by_rule_0},
        {"no Pod is left", goes_on(R"("onPodReasons": ["DisruptionTarget"])"), std::nullopt,
         of_infrastructure, disrupted},
    };
    for (const Case& c : cases) check(c);
}

TEST_CASE("what the cluster does to a Pod is no failure of its program", "[judge]") {
    for (const char* reason :
         {"OutOfcpu", "OutOfmemory", "OutOfnvidia.com/gpu", "NodeAffinity", "NodeShutdown", "Evicted",
          "Terminated", "Shutdown", "Preempting", "NodeLost"}) {
        check({reason, "", of_node(reason), of_infrastructure});
        check(
            {(std::string(reason) + " while it ran").c_str(), "", of_node(reason, true), of_infrastructure});
    }
    const Case cases[] = {
        {"its node has lost a device", "", of_node("UnexpectedAdmissionError"),
         "restart uncounted by rule -2 without the node"},
        {"a Pod without a reason of which no container is known", "", of_node(""), of_infrastructure},
        {"a Pod without a reason whose containers are known", "", of_node("", true), by_default},
        {"a Pod that is refused for good: SysctlForbidden", "", of_node("SysctlForbidden"), by_default},
        {"a Pod that is refused for good: PodOSNotSupported", "", of_node("PodOSNotSupported"), by_default},
        {"a Pod that took too long", "", of_node("DeadlineExceeded", true), by_default},
        {"a container's reason is not its node's", "", exited(1, "Evicted"), by_default},
        {"a Pod that was disrupted", "", with_condition(exited(137), "DisruptionTarget"), of_infrastructure},
        {"a Pod that was not", "", with_condition(exited(137), "DisruptionTarget", "False"), by_default},
        {"a disruption of which no Pod is left", "", std::nullopt, of_infrastructure, disrupted},
        {"a disruption that took a peer along", "", exited(1), of_infrastructure, disrupted},
        {"no Pod is left", "", std::nullopt, by_default},
        {"out of memory", "", exited(137, "OOMKilled"), by_default},
    };
    for (const Case& c : cases) check(c);
}

TEST_CASE("a rule excludes the node of the Pod, if it is known which one it is", "[judge]") {
    constexpr const char* excludes =
        R"({"action": "RestartTrainJob", "excludeNode": true,
            "onPodConditions": [{"type": "DisruptionTarget"}, {"type": "GpuLost"}]})";
    const FailedPod lost = with_condition(exited(1), "GpuLost");
    FailedPod undecided = lost;
    undecided.is_undecided = true;
    FailedPod refused = of_node("UnexpectedAdmissionError");
    refused.is_undecided = true;
    const Case cases[] = {
        {"the first to fail", excludes, lost, "restart by rule 0 without the node"},
        {"one of two that may have been the first", excludes, undecided, "restart by rule 0"},
        {"two nodes that refuse their Pods", "", refused, of_infrastructure},
        {"no Pod is left", excludes, std::nullopt, "restart by rule 0", disrupted},
        {"another rule decides",
         R"({"action": "RestartTrainJob", "onPodReasons": ["UnexpectedAdmissionError"]})",
         of_node("UnexpectedAdmissionError"), "restart by rule 0"},
        {"the job ends", ends(R"("excludeNode": true, "onPodConditions": [{"type": "GpuLost"}])"), lost,
         "fail by rule 0: FailJobSetFailurePolicyAction"},
    };
    for (const Case& c : cases) check(c);
}

TEST_CASE("restarts that count have a maximum", "[judge]") {
    const FailedPod pod = exited(1);
    const auto judged = [&](const char* members, api::Restarts so_far, const char* reason = failed) {
        return judge_first(policy_of(members), &pod, reason, so_far);
    };
    CHECK(text(judged("", {})) == "fail by rule -1: ReachedMaxRestarts");
    CHECK(text(judged(R"("maxRestarts": 2)", {.all = 9, .counted = 1})) == by_default);
    const Judgement last = judged(R"("maxRestarts": 2)", {.all = 9, .counted = 2});
    CHECK(text(last) == "fail by rule -1: ReachedMaxRestarts");
    CHECK(describe_end(last, {.all = 9, .counted = 2}) ==
          "the TrainJob has used the restarts of its failure policy: 2");
    CHECK(last.failures == 1);
    // Numbers that were forged.
    CHECK_FALSE(judged(R"("maxRestarts": 2)", {.all = 9, .counted = 700}).restarts());
    CHECK(text(judged("", {.all = 9, .counted = 9}, disrupted)) == of_infrastructure);
}

TEST_CASE("a rule may end the job, whatever is left of the restarts", "[judge]") {
    const FailedPod pod = exited(3);
    const Judgement judgement = judge_first(
        rules(R"({}, {"action": "FailTrainJob", "onExitCodes": {"operator": "In", "values": [3]}})"), &pod);
    CHECK(text(judgement) == "fail by rule 1: FailJobSetFailurePolicyAction");
    CHECK(describe_end(judgement, {}) == "rule 1 of the failure policy ends the TrainJob");
}

TEST_CASE("a hundred restarts in a row that do not count are the most", "[judge]") {
    const auto judged = [](api::Attempt attempt, const char* reason = disrupted) {
        return judge_first(rules(""), nullptr, reason, {.all = 200}, attempt);
    };
    CHECK(judged({}).uncounted_failures == 1);
    CHECK(judged({.uncounted_failures = 99}).uncounted_failures == 100);
    const Judgement last = judged({.uncounted_failures = 100});
    CHECK(text(last) == "fail by rule -2: TooManyUncountedRestarts");
    CHECK(describe_end(last, {}) ==
          "100 restarts in a row did not count, and no attempt lasted for ten minutes");
    CHECK_FALSE(judged({.uncounted_failures = 2'147'483'647}).restarts());
    // One that counts ends the row.
    CHECK(judged({.uncounted_failures = 100}, failed).uncounted_failures == 0);
    CHECK(judged({.uncounted_failures = 100}, failed).counts());
    // And so does an attempt that has lasted.
    const Judgement lasted = judged({.began = start - 9min, .uncounted_failures = 100});
    CHECK(lasted.restarts());
    CHECK(lasted.uncounted_failures == 1);
}

TEST_CASE("each failure in a row doubles the time until the next attempt, up to the longest", "[judge]") {
    struct Row {
        const char* backoff;
        std::int64_t before;
        std::chrono::seconds want;
    };
    const Row rows[] = {
        {"{}", 0, 10s},
        {"{}", 1, 20s},
        {"{}", 4, 160s},
        {"{}", 5, 300s},
        {"{}", 6, 300s},
        {"{}", 2'147'483'647, 300s},
        {R"({"initialSeconds": 0})", 0, 0s},
        {R"({"initialSeconds": 0})", 2'147'483'647, 0s},
        {R"({"initialSeconds": 7, "maxSeconds": 7})", 3, 7s},
        {R"({"initialSeconds": 1, "maxSeconds": 86400})", 16, 65536s},
        {R"({"initialSeconds": 1, "maxSeconds": 86400})", 17, 86400s},
    };
    const FailedPod pod = exited(1);
    for (const Row& row : rows)
        for (const char* reason : {failed, disrupted}) {
            INFO(row.backoff << " after " << row.before << ": " << reason);
            const auto policy = policy_of(R"("maxRestarts": 9, "backoff": )" + std::string(row.backoff));
            const Judgement judgement = judge_first(policy, &pod, reason, {}, {.failures = row.before});
            CHECK(judgement.delay == row.want);
            CHECK(judgement.failures == std::min<std::int64_t>(row.before, 1'000'000) + 1);
        }
}

TEST_CASE("an attempt that ran for ten minutes starts the back-off anew", "[judge]") {
    const auto after = [](std::optional<api::Time> began) {
        const FailedPod pod = exited(1);
        return judge_first(rules(""), &pod, failed, {},
                           {.began = began, .failures = 4, .uncounted_failures = 3});
    };
    const api::Time end = start + 60s;  // of the JobSet
    for (const auto& judgement : {after(std::nullopt), after(end - 599s), after(end + 1h)}) {
        CHECK(judgement.failures == 5);
        CHECK(judgement.delay == 160s);
    }
    const Judgement lasted = after(end - 600s);
    CHECK(lasted.failures == 1);
    CHECK(lasted.delay == 10s);
}

TEST_CASE("a failure of which no Pod is left has what the JobSet says", "[judge]") {
    Observed observed = failed_attempt(2, failed);
    api::Failure failure = failure_without_pod(*observed.job_set);
    CHECK(failure.time == start + 60s);
    CHECK(failure.pod.empty());
    CHECK(failure.reason.empty());
    CHECK(failure.message == "jobset failed");
    CHECK(failure.failed_pods == 0);
    observed.job_set->finished->message = std::string(2000, 'x');
    observed.job_set->finished->reason = disrupted;
    failure = failure_without_pod(*observed.job_set);
    CHECK(failure.message.size() == 512);
    CHECK(failure.reason == "DisruptionTarget");
}

TEST_CASE("an attempt is judged once the status has more restarts than it", "[judge]") {
    CHECK_FALSE(is_judged(submitted()));
    CHECK_FALSE(is_judged(attempt()));
    CHECK_FALSE(is_judged(failed_attempt()));
    CHECK_FALSE(is_judged(failed_attempt(2)));
    CHECK(is_judged(judged_attempt()));
    Observed observed = judged_attempt();
    SECTION("a JobSet of the template's own policy is no attempt") { observed.job_set->is_attempt = false; }
    SECTION("a JobSet of another owner") { make_foreign(observed); }
    SECTION("one that runs, and of which the status says nothing: the numbers were forged") {
        observed.job_set->finished.reset();
        observed.job->failures.clear();
    }
    SECTION("one that has completed") { observed.job_set->finished->type = "Completed"; }
    SECTION("the number of the status was forged") { observed.job->restarts = {}; }
    CHECK_FALSE(is_judged(observed));
}

}  // namespace lifecycle
