// The failure policies of runtimes and TrainJobs, as JobSet and Jobs understand them.
#include "fixtures.hpp"
#include "runtime/validation.hpp"

using api::Json;

namespace {

constexpr const char* policy_path = "spec.runPolicy.failurePolicy";

Json built(const Json& job, const Json& runtime, api::Restarts before = {}) {
    const api::TrainJob parsed = api::parse_train_job(job);
    const auto objects = runtime::build({.job = parsed, .runtime = runtime, .restarts_before = before});
    REQUIRE(objects);
    return objects->objects.back().object;
}

Json with_policy(const char* policy) { return changed(plain_runtime(), {{policy_path, policy}}); }

// "name action jobs pattern" of each rule of the JobSet.
std::string rules_text(const Json& job_set) {
    std::string text;
    for (const Json& rule : job_set["spec"]["failurePolicy"]["rules"].items()) {
        CHECK(rule["onJobFailureReasons"] == tree("[PodFailurePolicy]"));
        text += std::string(rule["name"].as_string()) + " " + std::string(rule["action"].as_string());
        for (const Json& job : rule["targetReplicatedJobs"].items())
            text += " " + std::string(job.as_string());
        for (const Json& pattern : rule["onJobFailureMessagePatterns"].items())
            text += " /" + std::string(pattern.as_string()) + "/";
        text += "\n";
    }
    return text;
}

const Json& job_of(const Json& job_set, std::size_t index = 0) {
    return job_set["spec"]["replicatedJobs"][index]["template"]["spec"];
}

const char* const of_disruptions =
    "{action: FailJob, onPodConditions: [{type: DisruptionTarget, status: 'True'}]}";

}  // namespace

TEST_CASE("without a failure policy the template decides", "[failure]") {
    const Json runtime =
        changed(plain_runtime(), {{"spec.template.spec.failurePolicy", "{maxRestarts: 3}"},
                                  {"spec.template.spec.replicatedJobs[0].template.spec.backoffLimit", "7"}});
    const Json job_set = built(train_job(), runtime);
    CHECK(job_set["spec"]["failurePolicy"] == tree("{maxRestarts: 3}"));
    CHECK(job_of(job_set)["backoffLimit"] == Json(7));
    CHECK(job_of(job_set)["podFailurePolicy"].is_null());
    CHECK(job_of(job_set)["template"]["spec"]["restartPolicy"].is_null());
}

TEST_CASE("a policy of either restarts as often as the TrainJob says, or else the runtime", "[failure]") {
    struct Case {
        const char* runtime;
        const char* job;
        int restarts;
    };
    const Case cases[] = {{"{}", "-", 0},
                          {"{maxRestarts: 2}", "-", 2},
                          {"{maxRestarts: 2}", "{maxRestarts: 5}", 5},
                          {"{maxRestarts: 2}", "{maxRestarts: 0}", 0},
                          {"-", "{maxRestarts: 4}", 4}};
    for (const Case& c : cases) DYNAMIC_SECTION(c.runtime << " " << c.job) {
            const Json job_set =
                built(changed(train_job(), {{"spec.failurePolicy", c.job}}), with_policy(c.runtime));
            CHECK(job_set["spec"]["failurePolicy"]["maxRestarts"] == Json(c.restarts));
            CHECK(rules_text(job_set) ==
                  "TrainJobFailurePolicyRule0 RestartJobSetAndIgnoreMaxRestarts node "
                  "/matching FailJob rule at index 0$/\n");
        }
}

TEST_CASE("a Pod that fails ends its Job, whatever the template says", "[failure]") {
    const Json runtime = changed(
        with_policy("{}"),
        {{"spec.template.spec.replicatedJobs[0].template.spec.backoffLimit", "7"},
         {"spec.template.spec.replicatedJobs[0].template.spec.backoffLimitPerIndex", "2"},
         {"spec.template.spec.replicatedJobs[0].template.spec.maxFailedIndexes", "2"},
         {"spec.template.spec.replicatedJobs[0].template.spec.podReplacementPolicy", "TerminatingOrFailed"},
         {"spec.template.spec.replicatedJobs[0].template.spec.template.spec.restartPolicy", "OnFailure"},
         {"spec.template.spec.failurePolicy", "{maxRestarts: 9, restartStrategy: BlockingRecreate}"}});
    const Json job_set = built(train_job(), runtime);
    const Json& job = job_of(job_set);
    CHECK(job["backoffLimit"] == Json(0));
    CHECK(job["template"]["spec"]["restartPolicy"] == Json("Never"));
    CHECK(job["podFailurePolicy"]["rules"][std::size_t(0)] == tree(of_disruptions));
    for (const char* member : {"backoffLimitPerIndex", "maxFailedIndexes", "podReplacementPolicy"})
        CHECK_FALSE(job.contains(member));
    CHECK(job_set["spec"]["failurePolicy"]["maxRestarts"] == Json(0));
    CHECK_FALSE(job_set["spec"]["failurePolicy"].contains("restartStrategy"));
}

TEST_CASE("each rule of the runtime is a rule of its Jobs and of the JobSet", "[failure]") {
    const Json job_set = built(
        train_job(),
        with_policy(
            "{maxRestarts: 3, rules: ["
            "{action: FailTrainJob, onExitCodes: {containerName: node, operator: In, values: [3, 1, 3, 2]}},"
            "{action: RestartTrainJob, onPodConditions: [{type: Slow, status: 'False'}, {type: Hot}]},"
            "{action: RestartTrainJobAndIgnoreMaxRestarts, onExitCodes: {operator: NotIn, values: [0]}}]}"));
    CHECK(job_of(job_set)["podFailurePolicy"]["rules"] ==
          tree("[{action: FailJob, onExitCodes: {containerName: node, operator: In, values: [1, 2, 3]}},"
               "{action: FailJob, onPodConditions: [{type: Slow, status: 'False'}, {type: Hot, status: "
               "'True'}]},"
               "{action: FailJob, onExitCodes: {operator: NotIn, values: [0]}}," +
               std::string(of_disruptions) + "]"));
    CHECK(rules_text(job_set) ==
          "TrainJobFailurePolicyRule0 FailJobSet node /matching FailJob rule at index 0$/\n"
          "TrainJobFailurePolicyRule1 RestartJobSet node /matching FailJob rule at index 1$/\n"
          "TrainJobFailurePolicyRule2 RestartJobSetAndIgnoreMaxRestarts node /matching FailJob rule at index "
          "2$/\n"
          "TrainJobFailurePolicyRule3 RestartJobSetAndIgnoreMaxRestarts node /matching FailJob rule at index "
          "3$/\n");
}

TEST_CASE("a rule that names disruptions replaces the one that is added", "[failure]") {
    const Json job_set =
        built(train_job(),
              with_policy("{rules: [{action: FailTrainJob, onPodConditions: [{type: DisruptionTarget}]}]}"));
    CHECK(rules_text(job_set) ==
          "TrainJobFailurePolicyRule0 FailJobSet node /matching FailJob rule at index 0$/\n");
}

TEST_CASE("a rule for a container is for the jobs that have it, at any place among their containers",
          "[failure]") {
    const Json runtime = changed(
        with_policy(
            "{rules: [{action: FailTrainJob, onExitCodes: {containerName: setup, operator: In, values: [9]}},"
            "{action: FailTrainJob, onExitCodes: {operator: In, values: [2]}}]}"),
        {{"spec.template.spec.replicatedJobs[1]",
          "{name: side, template: {spec: {template: {spec: {containers: [{name: a, image: i}], "
          "initContainers: [{name: setup, image: i}]}}}}}"}});
    const Json job_set = built(train_job(), runtime);
    CHECK(job_of(job_set, 0)["podFailurePolicy"]["rules"].items().size() == 2);
    CHECK(job_of(job_set, 1)["podFailurePolicy"]["rules"].items().size() == 3);
    CHECK(rules_text(job_set) ==
          "TrainJobFailurePolicyRule0 FailJobSet side /matching FailJob rule at index 0$/\n"
          "TrainJobFailurePolicyRule1_0 FailJobSet node /matching FailJob rule at index 0$/\n"
          "TrainJobFailurePolicyRule1_1 FailJobSet side /matching FailJob rule at index 1$/\n"
          "TrainJobFailurePolicyRule2_1 RestartJobSetAndIgnoreMaxRestarts node /matching FailJob rule at "
          "index 1$/\n"
          "TrainJobFailurePolicyRule2_2 RestartJobSetAndIgnoreMaxRestarts side /matching FailJob rule at "
          "index 2$/\n");
}

TEST_CASE("a rule for a container that no Pod has is no rule, and a warning", "[failure]") {
    const Json runtime = with_policy(
        "{rules: [{action: FailTrainJob, onExitCodes: {containerName: gone, operator: In, values: [9]}}]}");
    const api::TrainJob job = api::parse_train_job(train_job());
    const auto objects = runtime::build({.job = job, .runtime = runtime});
    REQUIRE(objects);
    CHECK(objects->warnings ==
          std::vector<runtime::BuildWarning>{
              {"FailureRuleUnused",
               "rule 0 of the runtime's failure policy has no effect: no Pod has a container \"gone\""}});
    CHECK(rules_text(objects->objects.back().object) ==
          "TrainJobFailurePolicyRule1 RestartJobSetAndIgnoreMaxRestarts node /matching FailJob rule at index "
          "0$/\n");
}

TEST_CASE("a new JobSet has what is left of the restarts, and says what was before it", "[failure]") {
    const char* const annotation = "trainer.kubeflow.org/restarts-before";
    const Json runtime = with_policy("{maxRestarts: 3}");
    Json job_set = built(train_job(), runtime, {.all = 5, .counted = 2});
    CHECK(job_set["spec"]["failurePolicy"]["maxRestarts"] == Json(1));
    CHECK(job_set["metadata"]["annotations"][annotation] == Json("5,2"));
    CHECK(built(train_job(), runtime, {.all = 9, .counted = 7})["spec"]["failurePolicy"]["maxRestarts"] ==
          Json(0));
    CHECK(built(train_job(), plain_runtime(), {.all = 1})["metadata"]["annotations"][annotation] ==
          Json("1,0"));
    CHECK_FALSE(built(train_job(), runtime)["metadata"]["annotations"].contains(annotation));

    const Json forged = changed(runtime, {{"spec.template.metadata.annotations",
                                           "{trainer.kubeflow.org/restarts-before: '0,-7', a: b}"}});
    CHECK(built(train_job(), forged)["metadata"]["annotations"] == tree("{a: b}"));
}

TEST_CASE("a stored failure policy of another shape is an error, and not built", "[failure]") {
    for (const char* policy : {"[]", "{rules: {}}", "{rules: [a]}", "{rules: [{onExitCodes: []}]}",
                               "{rules: [{onExitCodes: {values: 3}}]}", "{rules: [{onPodConditions: {}}]}"}) {
        INFO(policy);
        const auto job_set = build_job_set(train_job(), with_policy(policy));
        REQUIRE_FALSE(job_set);
        CHECK(job_set.error().field.starts_with("spec.runPolicy.failurePolicy"));
    }
}

TEST_CASE("a TrainJob's failure policy is an error where the template of its runtime decides", "[failure]") {
    const Json job = changed(train_job(), {{"spec.failurePolicy", "{maxRestarts: 1}"}});
    const Json of_job_set =
        changed(plain_runtime(), {{"spec.template.spec.failurePolicy", "{maxRestarts: 3}"}});
    const auto refused = build_job_set(job, of_job_set);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().field == "spec.failurePolicy");
    CHECK(refused.error().message.find("spec.template.spec.failurePolicy of the runtime decides") !=
          std::string::npos);
    CHECK(build_job_set(train_job(), of_job_set));
    CHECK(build_job_set(job, plain_runtime()));
}

TEST_CASE("rules that would fill all jobs with more than 20,000 values are denied, and not built",
          "[failure]") {
    std::string codes = "1";
    for (int code = 2; code <= 255; ++code) codes += "," + std::to_string(code);
    const std::string rule = "{action: FailTrainJob, onExitCodes: {operator: In, values: [" + codes + "]}}";
    std::string rules = rule;
    for (int i = 1; i < 19; ++i) rules += ", " + rule;
    Json runtime = with_policy(("{rules: [" + rules + "]}").c_str());
    const auto errors = [&] {
        return runtime::validate_runtime(runtime, Json(), runtime::default_pipeline(), runtime::Gates::all())
            .errors;
    };
    Json& jobs = at(runtime, "spec.template.spec.replicatedJobs");
    const auto add_job = [&] {
        jobs.push_back(tree("{template: {spec: {template: {spec: {containers: [{name: a, image: i}]}}}}}"));
        jobs.items().back()["name"] = "j" + std::to_string(jobs.items().size());
    };
    while (jobs.items().size() < 3) add_job();
    CHECK(errors().empty());
    CHECK(build_job_set(train_job(), runtime));
    add_job();
    REQUIRE(errors().size() == 1);
    CHECK(errors()[0].field == "spec.runPolicy.failurePolicy.rules");
    CHECK(errors()[0].detail ==
          "must have at most 20000 values in all jobs together, and have 20104: each job gets all rules");
    const auto job_set = build_job_set(train_job(), runtime);
    REQUIRE_FALSE(job_set);
    CHECK(job_set.error().field == "spec.runtimeRef");
}
