// `spec.runPolicy.disruptionBudget`: a PodDisruptionBudget of the Pods that run the program.
#include "fixtures.hpp"

using api::Json;

namespace {

const Change asked = {"spec.runPolicy.disruptionBudget", "true"};
const char* const trains = "{trainer.kubeflow.org/trainjob-ancestor-step: trainer}";

std::string job_of(const char* name, const char* labels = "{}") {
    return std::string("{name: ") + name + ", template: {metadata: {labels: " + labels +
           "}, spec: {template: {spec: {containers: [{name: node, image: i}]}}}}}";
}

runtime::Built built(const Json& runtime, const std::vector<Change>& of_job = {}) {
    const api::TrainJob job = api::parse_train_job(changed(train_job(), of_job));
    auto made = runtime::build({.job = job, .runtime = runtime});
    if (!made) FAIL(made.error());
    return std::move(*made);
}

// Returns the budget; null if there is none.
Json budget(const Json& runtime, const std::vector<Change>& of_job = {}) {
    Json found;
    for (runtime::BuiltObject& each : built(runtime, of_job).objects)
        if (each.object["kind"] == "PodDisruptionBudget") {
            CHECK(found.is_null());
            CHECK(each.when == runtime::ApplyPolicy::during_run);
            found = std::move(each.object);
        }
    return found;
}

// Returns "2 of node", "2 of all" or "none".
std::string text_of(const Json& budget) {
    if (budget.is_null()) return "none";
    const Json& spec = budget["spec"];
    const Json& selector = spec["selector"];
    CHECK(selector["matchLabels"] == tree("{jobset.sigs.k8s.io/jobset-name: job}"));
    std::string jobs;
    for (const Json& requirement : selector["matchExpressions"].items()) {
        CHECK(requirement["key"] == "jobset.sigs.k8s.io/replicatedjob-name");
        CHECK(requirement["operator"] == "In");
        for (const Json& name : requirement["values"].items()) jobs += " " + std::string(name.as_string());
    }
    return to_json(spec["minAvailable"]) + " of" + (jobs.empty() ? " all" : jobs);
}

}  // namespace

TEST_CASE("a disruption budget has the TrainJob's name and owner, and comes before the JobSet", "[budget]") {
    const runtime::Built all = built(changed(plain_runtime(), {asked}));
    REQUIRE(all.objects.size() == 2);
    const Json& made = all.objects.front().object;
    CHECK(made["apiVersion"] == "policy/v1");
    CHECK(made["kind"] == "PodDisruptionBudget");
    CHECK(made["metadata"]["name"] == "job");
    CHECK(made["metadata"]["namespace"] == "ns");
    CHECK(made["metadata"]["ownerReferences"][0]["uid"] == "job-uid");
    CHECK(made["spec"] ==
          tree("{minAvailable: 1, selector: {matchLabels: {jobset.sigs.k8s.io/jobset-name: job}}}"));
}

TEST_CASE("a disruption budget counts all Pods that run the program, and selects no others", "[budget]") {
    struct Case {
        const char* name;
        Json runtime;
        std::vector<Change> job;
        const char* want;
    };
    const std::string beside = job_of("side");
    const std::string data =
        job_of("dataset-initializer", "{trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}");
    const std::string launcher = job_of("launcher", trains);
    const std::string no_trainer = "[" + job_of("a") + "]";
    const char* const second = "spec.template.spec.replicatedJobs[1]";
    const Json launched = changed(
        plain_runtime(),
        {{"spec.template.spec.replicatedJobs[0].template.metadata", "{}"}, {second, launcher.c_str()}});
    const Case cases[] = {
        {"plain", plain_runtime(), {}, "1 of all"},
        {"torch", changed(runtime_with("torch"), {{"spec.mlPolicy.numNodes", "4"}}), {}, "4 of all"},
        {"the size of the TrainJob", runtime_with("torch"), {{"spec.trainer.numNodes", "7"}}, "7 of all"},
        {"an elastic job, which has all its nodes as long as nothing fails",
         changed(runtime_with("torch"),
                 {{"spec.mlPolicy", "{numNodes: 4, torch: {elasticPolicy: {minNodes: 2, maxNodes: 4}}}"}}),
         {},
         "4 of all"},
        {"MPI with its launcher",
         changed(launched, {{"spec.mlPolicy", "{numNodes: 3, mpi: {}}"}}),
         {},
         "4 of all"},
        {"MPI with its launcher as a node",
         changed(launched, {{"spec.mlPolicy", "{mpi: {runLauncherAsNode: true}}"}}),
         {{"spec.trainer.numNodes", "3"}},
         "3 of all"},
        {"Flux", changed(runtime_with("flux"), {{"spec.mlPolicy.numNodes", "2"}}), {}, "2 of all"},
        {"initializers", changed(plain_runtime(), {{second, data.c_str()}}), {}, "1 of node"},
        {"a job beside it", changed(plain_runtime(), {{second, beside.c_str()}}), {}, "1 of node"},
        {"no job that trains",
         changed(plain_runtime(), {{"spec.template.spec.replicatedJobs", no_trainer.c_str()}}),
         {},
         "none"},
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            CHECK(text_of(budget(changed(c.runtime, {asked}), c.job)) == c.want);
        }
}

TEST_CASE("only a runtime that asks for it has a disruption budget", "[budget]") {
    CHECK(text_of(budget(plain_runtime())) == "none");
    for (const char* value : {"false", "null", "{}", "[]", "1"}) {
        CAPTURE(value);
        CHECK(text_of(budget(changed(plain_runtime(), {{asked.path, value}}))) == "none");
    }
}

TEST_CASE("a suspended TrainJob has the same disruption budget, which is written when it is resumed",
          "[budget]") {
    const Json runtime = changed(plain_runtime(), {asked});
    CHECK(budget(runtime, {{"spec.suspend", "true"}}) == budget(runtime));
}
