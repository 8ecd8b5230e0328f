// What admission says of failure policies.
#include "fixtures.hpp"
#include "runtime/validation.hpp"

using api::Json;
using runtime::Gates;

namespace {

using Texts = std::vector<std::string>;

constexpr const char* job_spec = "spec.template.spec.replicatedJobs[0].template.spec";

Texts texts(const api::Warnings& warnings) {
    Texts found;
    for (const api::Warning& warning : warnings) {
        CHECK(warning.text.size() <= 120);
        found.push_back(std::string(warning.rule.name()) + ": " + warning.text);
    }
    return found;
}

Texts texts(const api::FieldErrors& errors) {
    Texts found;
    for (const api::FieldError& error : errors)
        found.push_back(std::string(error.rule.name()) + " " + error.field + ": " + body(error));
    return found;
}

runtime::ValidationResult review(const Json& object, const Json& before = {}) {
    return runtime::validate_runtime(object, before, runtime::default_pipeline(), Gates::all());
}

runtime::ValidationResult review_job(const Json& object, const Json& before, const Json& of) {
    return runtime::validate_train_job(
        {.object = object, .old_object = before, .runtime = &of, .gates = Gates::all()});
}

Json with_policy(const std::string& policy, std::vector<Change> changes = {}) {
    changes.push_back({"spec.runPolicy.failurePolicy", policy.c_str()});
    return changed(plain_runtime(), changes);
}

std::string at_job(const char* member) { return std::string(job_spec) + "." + member; }

Json with_restarts(const char* number) {
    const std::string policy = "{maxRestarts: " + std::string(number) + "}";
    return changed(train_job(), {{"spec.failurePolicy", policy.c_str()}});
}

}  // namespace

TEST_CASE("a failure policy is in no runtime whose template decides about failures", "[admission]") {
    struct Case {
        std::string path;
        const char* value;
    };
    const Case cases[] = {{"spec.template.spec.failurePolicy", "{restartStrategy: BlockingRecreate}"},
                          {at_job("podFailurePolicy"), "{rules: []}"},
                          {at_job("backoffLimitPerIndex"), "1"},
                          {at_job("maxFailedIndexes"), "1"},
                          {at_job("podReplacementPolicy"), "TerminatingOrFailed"}};
    for (const auto& [path, value] : cases) DYNAMIC_SECTION(path) {
            const Json wrong = with_policy("{}", {{path.c_str(), value}});
            const Texts error = {"template_failure_handling " + path +
                                 ": Forbidden: cannot be beside spec.runPolicy.failurePolicy, which decides"};
            CHECK(texts(review(wrong).errors) == error);
            CHECK(texts(review(wrong, with_policy("{}")).errors) == error);
            CHECK(texts(review(wrong, changed(plain_runtime(), {{path.c_str(), value}})).errors) == error);
            CHECK(texts(review(wrong, wrong).errors).empty());
            CHECK(texts(review(changed(plain_runtime(), {{path.c_str(), value}})).errors).empty());
        }
    CHECK(review(with_policy("{}", {{at_job("podReplacementPolicy").c_str(), "Failed"}})) ==
          runtime::ValidationResult());
}

TEST_CASE("a template that ignores disruptions leaves failures to a failure policy", "[admission]") {
    const std::string path = at_job("podFailurePolicy");
    const auto with_rule = [&](const char* rule) {
        const std::string value = "{rules: [" + std::string(rule) + "]}";
        return texts(review(with_policy("{}", {{path.c_str(), value.c_str()}})).errors);
    };
    const Texts decides = {"template_failure_handling " + path +
                           ": Forbidden: cannot be beside spec.runPolicy.failurePolicy, which decides"};
    CHECK(with_rule("{action: Ignore, onPodConditions: [{type: DisruptionTarget, status: 'True'}]}").empty());
    CHECK(with_rule("{action: FailJob, onPodConditions: [{type: DisruptionTarget}]}") == decides);
    CHECK(with_rule("{action: Ignore, onPodConditions: [{type: DisruptionTarget, status: 'False'}]}") ==
          decides);
    CHECK(with_rule(
              "{action: Ignore, onPodConditions: [{type: DisruptionTarget}, {type: example.com/Slow}]}") ==
          decides);
    CHECK(with_rule("{action: Ignore, onExitCodes: {operator: In, values: [1]}}") == decides);
}

TEST_CASE("what a stored runtime has of both is no error of another job", "[admission]") {
    const char* const other =
        "{name: other, template: {spec: {template: {spec: {containers: [{name: a, image: i}]}}}}}";
    const char* const another =
        "{name: other, template: {spec: {backoffLimitPerIndex: 1, template: {spec: "
        "{containers: [{name: a, image: i}]}}}}}";
    const std::string limit = at_job("backoffLimitPerIndex");
    const char* const second = "spec.template.spec.replicatedJobs[1]";
    const Json stored = with_policy("{}", {{limit.c_str(), "1"}, {second, other}});
    const Json changed_other = with_policy("{}", {{limit.c_str(), "1"}, {second, another}});
    CHECK(texts(review(changed_other, stored).errors) ==
          Texts{"template_failure_handling spec.template.spec.replicatedJobs[1].template.spec."
                "backoffLimitPerIndex: Forbidden: cannot be beside spec.runPolicy.failurePolicy, which "
                "decides"});
}

TEST_CASE("a rule that can match nothing is refused with the runtime", "[admission]") {
    const std::string at = "failure_rules spec.runPolicy.failurePolicy.rules[0].";
    const std::string rule = "{action: FailTrainJob, onExitCodes: {operator: In, values: [1]}}";
    std::string twenty = "{rules: [" + rule;
    for (int i = 1; i < 20; ++i) twenty += ", " + rule;
    CHECK(review(with_policy(twenty + "]}")) == runtime::ValidationResult());

    const auto of_codes = [](const char* codes) {
        return with_policy("{rules: [{action: FailTrainJob, onExitCodes: " + std::string(codes) + "}]}");
    };
    for (const char* values : {"[0, 1, 255]", "[2, 1]", "[1, 1]"})
        CHECK(review(of_codes(("{operator: NotIn, values: " + std::string(values) + "}").c_str())) ==
              runtime::ValidationResult());
    for (const char* values : {"[0, 1]", "[1, 0, 0]"})
        CHECK(
            texts(review(of_codes(("{operator: In, values: " + std::string(values) + "}").c_str())).errors) ==
            Texts{at + "onExitCodes.values: Invalid value: 0: must not contain 0 with the operator In, "
                       "since 0 is no failure"});
    CHECK(review(of_codes("{containerName: node, operator: In, values: [1]}")) ==
          runtime::ValidationResult());
    const Json nowhere = of_codes("{containerName: gone, operator: In, values: [1]}");
    CHECK(texts(review(nowhere).errors) ==
          Texts{at + "onExitCodes.containerName: Invalid value: \"gone\": no job of the runtime has such a "
                     "container"});
    CHECK(texts(review(nowhere, nowhere).errors).empty());

    const auto of_condition = [](const char* type) {
        return with_policy("{rules: [{action: FailTrainJob, onPodConditions: [{type: \"" + std::string(type) +
                           "\"}]}]}");
    };
    for (const char* good : {"Ready", "example.com/Too_slow.1"})
        CHECK(review(of_condition(good)) == runtime::ValidationResult());
    for (const char* wrong : {"", "too slow", "-a", "a/", "/a", "A.b/c", "a/b/c"})
        CHECK(texts(review(of_condition(wrong)).errors) ==
              Texts{at + "onPodConditions[0].type: Invalid value: \"" + wrong +
                    "\": must be the type of a condition, such as DisruptionTarget or example.com/TooSlow"});

    const auto of_reason = [](const char* reason) {
        return with_policy("{rules: [{action: FailTrainJob, onPodReasons: [OOMKilled, \"" +
                           std::string(reason) + "\"]}]}");
    };
    for (const char* good : {"Evicted", "OutOfcpu", "OutOfexample.com/gpu", "A_b-1:c,d"})
        CHECK(review(of_reason(good)) == runtime::ValidationResult());
    for (const char* wrong : {"", "OutOf*", "too slow", "exit code 1"})
        CHECK(texts(review(of_reason(wrong)).errors) ==
              Texts{at + "onPodReasons[1]: Invalid value: \"" + wrong +
                    "\": must be a reason in full, such as OOMKilled or Evicted"});
}

TEST_CASE("only a rule after which an attempt follows excludes a node", "[admission]") {
    const auto excluding = [](const char* action, const char* value) {
        return with_policy("{rules: [{action: " + std::string(action) +
                           ", onPodReasons: [Evicted], excludeNode: " + value + "}]}");
    };
    for (const char* action : {"RestartTrainJob", "RestartTrainJobAndIgnoreMaxRestarts"})
        CHECK(review(excluding(action, "true")) == runtime::ValidationResult());
    CHECK(review(excluding("FailTrainJob", "false")) == runtime::ValidationResult());
    CHECK(texts(review(excluding("FailTrainJob", "true")).errors) ==
          Texts{"failure_rules spec.runPolicy.failurePolicy.rules[0].excludeNode: Invalid value: true: must "
                "not be true with the action FailTrainJob, after which no attempt follows"});
}

TEST_CASE("the longest wait between attempts is no less than the first one", "[admission]") {
    const auto of_backoff = [](const char* backoff) {
        return texts(review(with_policy("{backoff: " + std::string(backoff) + "}")).errors);
    };
    for (const char* good : {"{}", "{initialSeconds: 0}", "{initialSeconds: 86400}", "{maxSeconds: 10}",
                             "{initialSeconds: 5, maxSeconds: 5}", "{initialSeconds: 0, maxSeconds: 0}"})
        CHECK(of_backoff(good).empty());
    const auto error = [](const char* value, const char* first) {
        return Texts{"failure_rules spec.runPolicy.failurePolicy.backoff.maxSeconds: Invalid value: " +
                     std::string(value) + ": must be at least initialSeconds, " + first};
    };
    CHECK(of_backoff("{initialSeconds: 6, maxSeconds: 5}") == error("5", "6"));
    CHECK(of_backoff("{maxSeconds: 9}") == error("9", "10"));
    const char* const stored = "{backoff: {initialSeconds: 6, maxSeconds: 5}, maxRestarts: 1}";
    CHECK(
        texts(
            review(with_policy(stored), with_policy("{backoff: {initialSeconds: 6, maxSeconds: 5}}")).errors)
            .empty());
}

TEST_CASE("a failure policy of another shape is refused", "[admission]") {
    for (const char* wrong : {"{backoff: []}", "{excludedNodes: 3}", "{rules: [{onPodReasons: {}}]}"})
        CHECK(review(with_policy(wrong)).errors.size() == 1);
}

TEST_CASE("a rule may name the container that the runtime's framework adds", "[admission]") {
    const Json of_flux = with_policy(
        "{rules: [{action: RestartTrainJob, onExitCodes: {containerName: flux-installer, operator: In, "
        "values: [1]}}]}",
        {{"spec.mlPolicy", "{numNodes: 1, flux: {}}"}});
    CHECK(texts(review(of_flux).errors).empty());
    CHECK(texts(review(changed(of_flux, {{"spec.mlPolicy", "{numNodes: 1}"}})).errors).size() == 1);
}

TEST_CASE("a warning tells what a failure policy replaces", "[admission]") {
    const std::string attempts = at_job("backoffLimit"), pod = at_job("template.spec.restartPolicy");
    const auto warnings = [](const std::vector<Change>& changes) {
        return texts(review(with_policy("{}", changes)).warnings);
    };
    const std::string replaced = "replaced_failure_handling: ";
    const std::string beside = " no effect beside spec.runPolicy.failurePolicy";
    CHECK(warnings({{attempts.c_str(), "6"}}) ==
          Texts{replaced + "backoffLimit of the runtime's jobs has" + beside});
    CHECK(warnings({{pod.c_str(), "OnFailure"}}) ==
          Texts{replaced + "restartPolicy of the runtime's jobs has" + beside});
    const std::vector<Change> both = {{attempts.c_str(), "6"}, {pod.c_str(), "OnFailure"}};
    CHECK(warnings(both) ==
          Texts{replaced + "backoffLimit and restartPolicy of the runtime's jobs have" + beside});
    CHECK(warnings({{attempts.c_str(), "0"}, {pod.c_str(), "Never"}}).empty());
    const Json stored = with_policy("{}", both);
    CHECK(texts(review(stored, stored).warnings).empty());
    CHECK(texts(review(changed(plain_runtime(), both)).warnings).empty());

    const Json job = with_restarts("1");
    const Json of = changed(plain_runtime(), both);
    CHECK(texts(review_job(job, {}, of).warnings) ==
          Texts{replaced + "backoffLimit and restartPolicy of the runtime's jobs have no effect beside "
                           "spec.failurePolicy"});
    CHECK(texts(review_job(job, {}, stored).warnings).empty());
    CHECK(texts(review_job(train_job(), {}, of).warnings).empty());
}

TEST_CASE("a TrainJob has no failure policy where the template of its runtime decides", "[admission]") {
    const Json of = changed(plain_runtime(), {{"spec.template.spec.failurePolicy", "{maxRestarts: 1}"},
                                              {at_job("maxFailedIndexes").c_str(), "1"}});
    const auto findings = review_job(with_restarts("1"), {}, of);
    CHECK(texts(findings.errors) ==
          Texts{"failure_policy_overruled spec.failurePolicy: Forbidden: spec.template.spec.failurePolicy of "
                "the runtime decides"});
    CHECK(findings.warnings.empty());
    CHECK(texts(review_job(train_job(), {}, of).errors).empty());
    // The runtime was edited since.
    const Json stored = with_restarts("1");
    CHECK(texts(review_job(changed(stored, {{"metadata.labels", "{a: b}"}}), stored, of).errors).empty());
}

TEST_CASE("a failure policy that a typed client has lost is restored", "[admission]") {
    for (const char* restarts : {"1", "0"}) {
        const Json before = with_restarts(restarts);
        CHECK(texts(review_job(train_job(), before, plain_runtime()).warnings) ==
              Texts{"lost_fields: spec loses failurePolicy: if the client does not know that field, put it "
                    "into --lossy-clients"});
        const Json resumed = changed(train_job(), {{"spec.suspend", "true"}});
        for (const Json& written : {train_job(), resumed}) {
            CHECK(runtime::default_train_job(written, before, {}).operations.empty());
            const auto mutation = runtime::default_train_job(written, before, {}, {.is_lossy = true});
            REQUIRE(mutation.operations.size() == 1);
            CHECK(mutation.restored == std::vector<api::RestoredField>{{"failurePolicy", "typed_client"}});
            CHECK(to_json(mutation.operations[0]) ==
                  R"({"op":"add","path":"/spec/failurePolicy","value":{"maxRestarts":)" +
                      std::string(restarts) + "}}");
        }
    }
}
