// How long Pods have to end: `spec.runPolicy.gracePeriodSeconds`.
#include "fixtures.hpp"

using api::Json;

namespace {

constexpr const char* grace = "spec.runPolicy.gracePeriodSeconds";
constexpr const char* own_grace =
    "spec.template.spec.replicatedJobs[0].template.spec.template.spec.terminationGracePeriodSeconds";
constexpr const char* timeout = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT";
const char* const patch =
    "[{manager: example.com/team, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, "
    "template: {spec: {template: {spec: {terminationGracePeriodSeconds: 300}}}}}]}}}}]";

// Returns "job=seconds" of each job, in order; "-" where the Pod template has none.
std::string periods(const Json& job_set) {
    std::string text;
    for (const Json& job : job_set["spec"]["replicatedJobs"].items()) {
        const Json& seconds = job["template"]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"];
        text += (text.empty() ? "" : " ") + std::string(job["name"].as_string()) + "=" +
                (seconds.is_null() ? "-" : to_json(seconds));
    }
    return text;
}

std::string periods(const Json& runtime, const std::vector<Change>& job) {
    const auto built = build_job_set(changed(train_job(), job), runtime);
    if (!built) FAIL(built.error());
    return periods(*built);
}

// Returns the value of torchrun's variable in a container; "none" without it.
std::string timeout_in(const Json& node) {
    std::string found = "none";
    for (const Json& entry : node["env"].items())
        if (entry["name"] == timeout) {
            CHECK(found == "none");
            found = std::string(entry["value"].as_string());
        }
    return found;
}

// A job for each step, and one without a step.
Json runtime_of_steps() {
    return changed(
        plain_runtime(),
        {{"spec.template.spec.replicatedJobs[1]",
          "{name: model-initializer, template: {metadata: {labels: "
          "{trainer.kubeflow.org/trainjob-ancestor-step: "
          "model-initializer}}, spec: {template: {spec: {containers: [{name: model-initializer, image: "
          "i}]}}}}}"},
         {"spec.template.spec.replicatedJobs[2]",
          "{name: side, template: {spec: {template: {spec: {containers: [{name: node, image: i}]}}}}}"},
         {grace, "60"}});
}

// A launcher with the trainer's label, and the job "node".
Json launched(const char* policy) {
    const char* const launcher =
        "{name: launcher, template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: "
        "trainer}}, "
        "spec: {template: {spec: {containers: [{name: node, image: i}]}}}}}";
    return changed(plain_runtime(), {{"spec.mlPolicy", policy},
                                     {"spec.template.spec.replicatedJobs[0].template.metadata", "{}"},
                                     {"spec.template.spec.replicatedJobs[1]", launcher},
                                     {grace, "60"}});
}

}  // namespace

TEST_CASE("a grace period of the runtime reaches the Pods that run the program, and no others", "[grace]") {
    CHECK(periods(runtime_of_steps(), {}) == "node=60 model-initializer=- side=-");
    CHECK(periods(launched("{mpi: {runLauncherAsNode: true}}"), {}) == "node=60 launcher=60");
    CHECK(periods(launched("{mpi: {}}"), {}) == "node=60 launcher=60");
    for (const char* framework : {"torch", "jax", "xgboost", "flux"}) {
        CAPTURE(framework);
        CHECK(periods(changed(runtime_with(framework), {{grace, "86400"}}), {}) == "node=86400");
    }
    // Flux runs in the job of that name, whatever its label.
    const Json unlabelled =
        changed(runtime_with("flux"),
                {{"spec.template.spec.replicatedJobs[0].template.metadata", "{}"}, {grace, "60"}});
    CHECK(periods(unlabelled, {}) == "node=60");
}

TEST_CASE("the template's own grace period, and the TrainJob's, go first", "[grace]") {
    const Json runtime = changed(plain_runtime(), {{grace, "60"}});
    CHECK(periods(runtime, {{"spec.runtimePatches", patch}}) == "node=300");
    CHECK(periods(changed(runtime, {{own_grace, "120"}}), {}) == "node=120");
    CHECK(periods(changed(runtime, {{own_grace, "120"}}), {{"spec.runtimePatches", patch}}) == "node=300");
    CHECK(periods(changed(runtime, {{own_grace, "0"}}), {}) == "node=0");
    CHECK(periods(changed(runtime, {{grace, "0"}}), {}) == "node=0");
}

TEST_CASE("a runtime without a grace period builds as before", "[grace]") {
    CHECK(periods(plain_runtime(), {}) == "node=-");
    CHECK(periods(changed(plain_runtime(), {{"spec.runPolicy", "{maxActiveDeadlineSeconds: 60}"}}), {}) ==
          "node=-");
    for (const char* value : {"-1", "soon", "null", "{}"}) {
        CAPTURE(value);
        CHECK(periods(changed(plain_runtime(), {{grace, value}}), {}) == "node=-");
    }
}

TEST_CASE("torchrun gives its processes the grace period but for what it needs itself", "[grace][torch]") {
    struct Case {
        const char* name;
        std::vector<Change> job;
        std::vector<Change> runtime;
        const char* want;
    };
    const Change env = {"spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0].env",
                        "[{name: TORCH_ELASTIC_SHUTDOWN_TIMEOUT, value: \"7\"}]"};
    const Case cases[] = {
        {"of a minute", {}, {{grace, "60"}}, "55"},
        {"of more than torchrun's own", {}, {{grace, "36"}}, "31"},
        {"not of less", {}, {{grace, "35"}}, "none"},
        {"none", {}, {{grace, "0"}}, "none"},
        {"of a patch", {{"spec.runtimePatches", patch}}, {{grace, "60"}}, "295"},
        {"of the template", {}, {{grace, "60"}, {own_grace, "120"}}, "115"},
        {"a shorter one of the template", {}, {{grace, "60"}, {own_grace, "20"}}, "none"},
        {"only in a runtime that has one", {}, {{own_grace, "120"}}, "none"},
        {"only in a runtime that has one: a patch", {{"spec.runtimePatches", patch}}, {}, "none"},
        {"the runtime's variable stays", {}, {{grace, "60"}, env}, "7"},
        {"the TrainJob's variable counts",
         {{"spec.trainer.env", "[{name: TORCH_ELASTIC_SHUTDOWN_TIMEOUT, value: \"9\"}]"}},
         {{grace, "60"}},
         "9"},
        {"elastic agents, too",
         {},
         {{grace, "60"}, {"spec.mlPolicy.torch.elasticPolicy", "{minNodes: 1, maxNodes: 2}"}},
         "55"},
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            const auto built =
                build_job_set(changed(train_job(), c.job), changed(runtime_with("torch"), c.runtime));
            if (!built) FAIL(built.error());
            CHECK(timeout_in(node_container(*built)) == c.want);
        }
    CHECK(timeout_in(trainer_node("jax", "{}", {{grace, "60"}})) == "none");
}

TEST_CASE("further containers with torchrun get the time of their own Pod", "[grace][torch]") {
    const char* const targets =
        "{envInjection: {targets: [{jobName: node, containerNames: [beside]}, {jobName: other, "
        "containerNames: "
        "[far]}, {jobName: slow, containerNames: [far]}]}}";
    const Json runtime = changed(
        runtime_with("torch"),
        {{grace, "60"},
         {"spec.mlPolicy.torch", targets},
         {"spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[1]",
          "{name: beside, image: i}"},
         {"spec.template.spec.replicatedJobs[1]",
          "{name: other, template: {spec: {template: {spec: {containers: [{name: far, image: i}]}}}}}"},
         {"spec.template.spec.replicatedJobs[2]",
          "{name: slow, template: {spec: {template: {spec: {terminationGracePeriodSeconds: 90, containers: "
          "[{name: far, image: i}]}}}}}"}});
    const auto built = build_job_set(train_job(), runtime);
    if (!built) FAIL(built.error());
    const auto timeout_of = [&](std::size_t job, std::size_t which) {
        return timeout_in((*built)["spec"]["replicatedJobs"][job]["template"]["spec"]["template"]["spec"]
                                  ["containers"][which]);
    };
    CHECK(timeout_of(0, 0) == "55");
    CHECK(timeout_of(0, 1) == "55");
    CHECK(timeout_of(1, 0) == "none");
    CHECK(timeout_of(2, 0) == "85");
}
