#include "api/failure.hpp"

#include <catch2/catch.hpp>

#include "api/text.hpp"

namespace api {
namespace {

Failure out_of_memory() {
    return {.attempt = 2,
            .time = as_time("2026-01-15T10:00:00Z").value(),
            .pod = "job-node-0-3-x7k2p",
            .node = "gpu-17",
            .replicated_job = "node",
            .index = 3,
            .container = "node",
            .exit_code = 137,
            .signal = 9,
            .reason = "OOMKilled",
            .message = "step 40\nloss 0.3",
            .failed_pods = 8};
}

}  // namespace

TEST_CASE("failures are read as they were written", "[failure]") {
    std::vector<Failure> failures = {out_of_memory(), {.pod = "p", .reason = "Error", .failed_pods = 1}};
    CHECK(parse_failures(to_json_tree(failures)) == failures);
    for (const auto decision :
         {FailureDecision::restart, FailureDecision::restart_uncounted, FailureDecision::fail}) {
        failures[0].decision = decision;
        failures[0].rule = infrastructure_rule;
        failures[0].excludes_node = true;
        CHECK(parse_failures(to_json_tree(failures)) == failures);
    }
}

TEST_CASE("what the policy has decided about a failure is written with its rule", "[failure]") {
    Failure failure = {.attempt = 1, .time = out_of_memory().time, .rule = 3};
    const auto written = [&] { return to_json(to_json_tree({failure})); };
    CHECK(written() == R"([{"attempt":1,"failedPods":0,"time":"2026-01-15T10:00:00Z"}])");
    failure.decision = FailureDecision::restart_uncounted;
    failure.excludes_node = true;
    CHECK(written() == R"([{"attempt":1,"decision":"RestartUncounted","excludesNode":true,"failedPods":0,)"
                       R"("rule":3,"time":"2026-01-15T10:00:00Z"}])");
    failure.decision = FailureDecision::restart;
    CHECK(written().find(R"("decision":"Restart",)") != std::string::npos);
    failure.decision = FailureDecision::fail;
    CHECK(written().find(R"("decision":"Fail",)") != std::string::npos);
}

TEST_CASE("a decision that is not known is none", "[failure]") {
    const auto read = parse_failures(
        parse_json(R"([{"time": "2026-01-15T10:00:00Z", "decision": "Wait", "rule": "x"}])").value());
    REQUIRE(read.size() == 1);
    CHECK(read[0].decision == FailureDecision::none);
    CHECK(read[0].rule == default_rule);
    CHECK_FALSE(read[0].excludes_node);
}

TEST_CASE("what is not known of a failure is left out", "[failure]") {
    const Json written =
        to_json_tree({{.time = out_of_memory().time, .pod = "p", .reason = "Evicted", .failed_pods = 1}});
    CHECK(to_json(written) ==
          R"([{"attempt":0,"failedPods":1,"pod":"p","reason":"Evicted","time":"2026-01-15T10:00:00Z"}])");
}

TEST_CASE("an entry without a time is no failure, whatever it is", "[failure]") {
    CHECK(parse_failures(parse_json(R"([{"reason":"Error"}, 7, null, {"pod":"p"}])").value()).empty());
    CHECK(parse_failures(Json("text")).empty());
}

TEST_CASE("a failure may be known without a Pod", "[failure]") {
    const auto read = parse_failures(
        parse_json(R"([{"time": "2026-01-15T10:00:00Z", "message": "jobset failed"}])").value());
    REQUIRE(read.size() == 1);
    CHECK(read[0].pod.empty());
    CHECK(describe(read[0]) == "no failed Pod is left: jobset failed");
    CHECK(describe({.time = read[0].time}) == "no failed Pod is left");
    const Failure disruption = {.reason = "DisruptionTarget",
                                .message = "applying FailJobSet failure policy action"};
    CHECK(describe(disruption) ==
          "a Pod was disrupted: its node was drained, tainted or lost, or another Pod took its place");
}

TEST_CASE("an attempt may have ended although no Pod had failed", "[failure]") {
    Failure failure = {.reason = "ProgressDeadlineExceeded", .message = "no progress for 35m (limit 30m)"};
    CHECK_FALSE(is_of_pod(failure));
    CHECK(describe(failure) == "no progress for 35m (limit 30m)");
    failure.message.clear();
    CHECK(describe(failure) == "ProgressDeadlineExceeded");
    CHECK(describe(Failure{.reason = "NoNodeLeft"}) == "NoNodeLeft");
    // What a program gives as its reason decides nothing.
    failure.pod = "p";
    CHECK(is_of_pod(failure));
    CHECK(describe(failure) == "Pod p: ProgressDeadlineExceeded");
    CHECK(is_of_pod({.reason = "DisruptionTarget"}));
    CHECK(is_of_pod({}));
}

TEST_CASE("a failure is one line for people", "[failure]") {
    Failure failure = out_of_memory();
    CHECK(
        describe(failure) ==
        R"(Pod job-node-0-3-x7k2p on node gpu-17: OOMKilled, exit code 137: "step 40\nloss 0.3"; 7 more Pods failed)");
    failure.failed_pods = 2;
    failure.reason = "Error";
    failure.exit_code = 1;
    failure.message.clear();
    CHECK(describe(failure) == "Pod job-node-0-3-x7k2p on node gpu-17: exit code 1; one more Pod failed");
    failure = {.pod = "p",
               .reason = "Evicted",
               .message = "The node was low on resource: memory.",
               .failed_pods = 1};
    CHECK(describe(failure) == R"(Pod p: Evicted: "The node was low on resource: memory.")");
}

TEST_CASE("of a long message the line has the end, from a whole character on", "[failure]") {
    const Failure failure = {
        .pod = "p", .reason = "Error", .message = "ä" + std::string(199, 'x'), .failed_pods = 1};
    CHECK(describe(failure) == "Pod p: Error: \"" + std::string(199, 'x') + "\"");
}

}  // namespace api
