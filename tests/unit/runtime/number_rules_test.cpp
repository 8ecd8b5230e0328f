// The bounds of numbers: in the schema, for TrainJobs of runtimes that are older than it, and in builds.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>

#include "crd/crd.hpp"
#include "fixtures.hpp"
#include "gang_objects.hpp"
#include "runtime/plugin.hpp"
#include "runtime/validation.hpp"

using api::Json;

namespace {

using Minima = std::map<std::string, std::int64_t>;

// Returns the minimum of a number: its own, or that of a rule, as Kubeflow Trainer has it.
std::int64_t minimum_of(const Json& schema) {
    if (const auto minimum = schema["minimum"].as_int()) return *minimum;
    for (const Json& rule : schema["x-kubernetes-validations"].items()) {
        const std::string_view text = rule["rule"].as_string();
        if (const auto at = text.find("self >= "); at != text.npos)
            return std::stoi(std::string(text.substr(at + 8)));
    }
    return std::numeric_limits<std::int64_t>::min();
}

void collect(const Json& schema, const std::string& path, Minima& minima) {
    if (schema["type"] == "integer" || schema["x-kubernetes-int-or-string"].bool_or(false))
        minima[path] = minimum_of(schema);
    for (const auto& [name, member] : schema["properties"].members())
        collect(member, path + "." + std::string(name), minima);
}

Minima of_schema() {
    std::ifstream file(SIGNALBOX_CRDS "/trainingruntimes.yaml");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const Json crd = api::parse_yaml(text).value();
    const Json& spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
    Minima minima;
    for (const char* group : {"mlPolicy", "podGroupPolicy"})
        collect(spec["properties"][group], std::string("spec.") + group, minima);
    return minima;
}

// A runtime with all that some of the rules need, and this number.
Json runtime_with_number(const std::string& path, std::int64_t number) {
    Json runtime = plain_runtime();
    runtime["spec"]["mlPolicy"] = Json::object();
    at(runtime, path) = number;
    return runtime;
}

// Returns whether the schema refuses the number at this path.
bool schema_refuses(const std::string& path, const Json& runtime, const Json& old_runtime = {}) {
    const auto errors = crd::find("ClusterTrainingRuntime")->validate(runtime, old_runtime);
    return std::any_of(errors.begin(), errors.end(),
                       [&](const api::StatusCause& error) { return error.place == path; });
}

std::string denied_job(const Json& job, const Json& runtime, const Json& old_job = {}) {
    return describe(
        runtime::validate_train_job(
            {.object = job, .old_object = old_job, .runtime = &runtime, .gates = runtime::Gates::all()})
            .errors);
}

std::string refused_build(const Json& job, const Json& runtime) {
    const auto built = build_job_set(job, runtime);
    return built ? "" : describe(built.error());
}

}  // namespace

TEST_CASE("each number of a runtime's policies below the schema's minimum is refused everywhere",
          "[numbers]") {
    const Minima minima = of_schema();
    CHECK(minima.size() >= 9);
    for (const auto& [path, minimum] : minima) {
        INFO(path);
        REQUIRE(minimum >= 0);
        const std::string rule = "must be at least " + std::to_string(minimum);
        const Json runtime = runtime_with_number(path, minimum - 1);
        CHECK(schema_refuses(path, runtime));
        CHECK_THAT(denied_job(train_job(), runtime),
                   Catch::Contains("spec.runtimeRef: ") && Catch::Contains(path) && Catch::Contains(rule));
        CHECK_THAT(refused_build(train_job(), runtime), Catch::StartsWith(path + ": " + rule));
        CHECK_THAT(refused_build(train_job(), runtime_with_number(path, minimum)), !Catch::Contains(rule));
    }
}

TEST_CASE("a stored runtime with a number below its minimum can be changed elsewhere", "[numbers]") {
    for (const auto& [path, minimum] : of_schema()) {
        INFO(path);
        REQUIRE(minimum >= 0);
        const Json stored = runtime_with_number(path, minimum - 1);
        const Json changed_elsewhere = changed(stored, {{"metadata.labels", "{a: b}"}});
        const std::string rule = "must be at least";
        CHECK_FALSE(schema_refuses(path, changed_elsewhere, stored));
        CHECK(runtime::validate_runtime(changed_elsewhere, stored).errors.empty());
        CHECK(schema_refuses(path, runtime_with_number(path, minimum - 2), stored));
        // The same for TrainJobs: what is stored may be placed by a queue.
        const Json job = changed(train_job(), {{"spec.suspend", "true"}});
        const Json placed = changed(
            job, {{"spec.runtimePatches",
                   "[{manager: a.io/x, trainingRuntimeSpec: {template: {metadata: {labels: {k: l}}}}}]"}});
        CHECK_THAT(denied_job(placed, stored, job), !Catch::Contains(rule));
    }
}

TEST_CASE("a TrainJob with a number of nodes of its own does not need the runtime's", "[numbers]") {
    const Json runtime = runtime_with_number("spec.mlPolicy.numNodes", -1);
    const Json job = changed(train_job(), {{"spec.trainer.numNodes", "2"}});
    CHECK(denied_job(job, runtime).empty());
    CHECK(refused_build(job, runtime).empty());
}

TEST_CASE("a build refuses numbers of a TrainJob that no schema has reviewed", "[numbers]") {
    const Json runtime = runtime_with("torch");
    CHECK(refused_build(changed(train_job(), {{"spec.trainer.numNodes", "-1"}}), runtime) ==
          "spec.trainer.numNodes: must be at least 0");
    CHECK(refused_build(changed(train_job(), {{"spec.trainer.numProcPerNode", "0"}}), runtime) ==
          "spec.trainer.numProcPerNode: must be at least 1");
}

TEST_CASE("a gang of no Pods is refused where its PodGroup cannot be stored", "[numbers]") {
    const Json none = changed(train_job(), {{"spec.trainer.numNodes", "0"}});
    const std::string rule =
        "must be at least 1: the runtime's podGroupPolicy.coscheduling needs a PodGroup of at least one Pod";
    const Json runtime = gang_runtime("coscheduling");
    CHECK_THAT(denied_job(none, runtime),
               Catch::Contains("spec.trainer.numNodes: Invalid value: 0: " + rule));
    CHECK(refused_build(none, runtime) == "spec.trainer.numNodes: " + rule);

    const auto warnings = runtime::validate_train_job({.object = none, .runtime = &runtime}).warnings;
    CHECK(warnings.empty());

    // Volcano stores a PodGroup of none, and YuniKorn needs no object: the TrainJob ends as without a gang.
    for (const char* policy : {"volcano", "yunikorn"}) {
        INFO(policy);
        CHECK(denied_job(none, gang_runtime(policy)).empty());
        CHECK(refused_build(none, gang_runtime(policy)).empty());
    }
}

TEST_CASE("a gang whose runtime has no replicas of its jobs is an error of the runtime", "[numbers]") {
    const Json runtime = changed(gang_runtime("coscheduling"),
                                 {{"spec.template.spec.replicatedJobs[0].template.metadata", "-"},
                                  {"spec.template.spec.replicatedJobs[0].replicas", "0"}});
    CHECK_THAT(denied_job(train_job(), runtime), Catch::Contains("spec.runtimeRef: "));
    CHECK_THAT(refused_build(train_job(), runtime), Catch::StartsWith("spec.runtimeRef: "));
}
