// Admission's rules for resource claims and for Volcano.
#include "fixtures.hpp"
#include "runtime/validation.hpp"

using api::Json;

namespace {

// Returns "field: rule", a line each.
std::string review(const Json& job, const Json& runtime, const std::vector<Json>* observed = nullptr) {
    const Json none;
    std::string text;
    const auto findings = runtime::validate_train_job(
        {.object = job, .old_object = none, .runtime = &runtime, .observed = observed});
    for (const api::FieldError& error : findings.errors)
        text += (text.empty() ? "" : "\n") + error.field + ": " + error.detail;
    return text;
}

const std::string pod = "spec.template.spec.replicatedJobs[0].template.spec.template.spec.";
const std::string claims = pod + "resourceClaims";
const std::string references = pod + "containers[0].resources.claims";
const std::string patch =
    "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec.template.spec.";
const std::string patched_claims = patch + "resourceClaims";
const std::string patched_containers = patch + "containers";
const std::string two_sources = ": must have exactly one of resourceClaimName and resourceClaimTemplateName";
const std::string no_such = ": no such claim: it must be in resourceClaims of the Pod";

Json volcano_runtime(const char* second_class) {
    Json runtime = plain_runtime();
    runtime["spec"]["podGroupPolicy"]["volcano"] = Json::object();
    at(runtime, pod + "priorityClassName") = "high";
    at(runtime, "spec.template.spec.replicatedJobs[1]") =
        tree("{name: other, template: {spec: {template: {spec: {containers: [{name: a, image: i}]}}}}}");
    at(runtime, "spec.template.spec.replicatedJobs[1].template.spec.template.spec.priorityClassName") =
        second_class;
    return runtime;
}

const Json high = tree("{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}}");
const std::string queue = "metadata.annotations.\"scheduling.volcano.sh/queue-name\"";

}  // namespace

TEST_CASE("claims have one source, and containers name claims of their Pod", "[admission]") {
    struct Case {
        const char* name;
        std::vector<Change> job;
        std::vector<Change> runtime;
        std::string want;
    };
    const Case cases[] = {
        {"all in order",
         {},
         {{claims.c_str(), "[{name: a, resourceClaimName: x}, {name: b, resourceClaimTemplateName: y}]"},
          {references.c_str(), "[{name: a}, {name: b, request: r}]"}},
         ""},
        {"the runtime's claim without a source",
         {},
         {{claims.c_str(), "[{name: a}]"}},
         "spec.runtimeRef" + two_sources},
        {"the runtime's claim with an empty source",
         {},
         {{claims.c_str(), "[{name: a, resourceClaimName: \"\"}]"}},
         "spec.runtimeRef" + two_sources},
        {"the runtime's reference to nothing",
         {},
         {{references.c_str(), "[{name: a}]"}},
         "spec.runtimeRef" + no_such},
        {"a patch's claim with two sources",
         {{patched_claims.c_str(), "[{name: a, resourceClaimName: x, resourceClaimTemplateName: y}]"},
          {"spec.runtimePatches[0].manager", "a.io/x"},
          {"spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].name", "node"}},
         {},
         patch + "resourceClaims[0]" + two_sources},
        {"a patch's reference to nothing",
         {{patched_containers.c_str(), "[{name: node, resources: {claims: [{name: b}]}}]"},
          {"spec.runtimePatches[0].manager", "a.io/x"},
          {"spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].name", "node"}},
         {},
         patch + "containers[0].resources.claims[0].name" + no_such},
        {"the same of MPI's nodes, of which none is said to train",
         {{"spec.trainer.resourcesPerNode.claims", "[{name: b}]"}},
         {{"spec.template.spec.replicatedJobs[0].template.metadata.labels", "{}"},
          {"spec.mlPolicy.mpi.runLauncherAsNode", "true"}},
         "spec.trainer.resourcesPerNode.claims[0].name" + no_such},
        {"resourcesPerNode's reference to nothing",
         {{"spec.trainer.resourcesPerNode.claims", "[{name: a}, {name: b}]"}},
         {{claims.c_str(), "[{name: a, resourceClaimName: x}]"}, {"spec.mlPolicy", "{numNodes: 1}"}},
         "spec.trainer.resourcesPerNode.claims[1].name" + no_such},
        {"not where it is not written", {{"spec.trainer.resourcesPerNode.claims", "[{name: a}]"}}, {}, ""},
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            CHECK(review(changed(train_job(), c.job), changed(plain_runtime(), c.runtime)) == c.want);
        }
}

TEST_CASE("a runtime with claims from which no Pod could be made is refused", "[admission]") {
    struct Case {
        const char* name;
        const char* claims;
        const char* want;
    };
    const Case cases[] = {
        {"one source", "[{name: a, resourceClaimName: b}]", ""},
        {"both sources", "[{name: a, resourceClaimName: b, resourceClaimTemplateName: c}]",
         ".resourceClaims[0]: Invalid value: \"a\": must have exactly one of resourceClaimName and "
         "resourceClaimTemplateName"},
        {"no source", "[{name: a}]",
         ".resourceClaims[0]: Invalid value: \"a\": must have exactly one of resourceClaimName and "
         "resourceClaimTemplateName"},
        {"one name twice", "[{name: a, resourceClaimName: b}, {name: a, resourceClaimName: c}]",
         ".resourceClaims[1]: Invalid value: \"a\": has the name of an earlier claim of the Pod"},
        {"a container's claim that the Pod lacks", "[{name: other, resourceClaimName: b}]",
         ".containers[0].resources.claims[0].name: Invalid value: \"a\": no such claim: it must be in "
         "resourceClaims of the Pod"},
    };
    const std::string pod_spec = "spec.template.spec.replicatedJobs[0].template.spec.template.spec";
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            Json runtime = plain_runtime();
            at(runtime, pod_spec.c_str())["resourceClaims"] = tree(c.claims);
            at(runtime, pod_spec.c_str())["containers"].items()[0]["resources"]["claims"] =
                tree("[{name: a}]");
            const auto refused = runtime::validate_runtime(runtime, Json()).errors;
            CHECK(describe(refused) == (*c.want ? pod_spec + c.want : std::string()));
            CHECK(runtime::validate_runtime(runtime, runtime).errors.empty());
        }
}

TEST_CASE("Volcano's priority classes exist and are the same", "[admission]") {
    const std::vector<Json> nothing;
    const std::vector<Json> one = {high};
    CHECK(review(train_job(), volcano_runtime("high"), &one).empty());
    CHECK(review(train_job(), volcano_runtime("high"), &nothing) ==
          "spec.runtimeRef: PriorityClass \"high\" does not exist");
    CHECK(review(train_job(), volcano_runtime("system-node-critical"), &one) ==
          "spec.runtimeRef: its jobs have different priority classes, \"high\" and \"system-node-critical\": "
          "under "
          "Volcano all have the same");
    // A class of the system does not end the check.
    CHECK(review(train_job(), volcano_runtime("system-node-critical"), &nothing) ==
          "spec.runtimeRef: PriorityClass \"high\" does not exist");
}

TEST_CASE("the priority classes of a Volcano runtime are needed, except the system's", "[admission]") {
    const runtime::Need want = {.resource = api::resources::priority_classes, .key = {"", "high"}};
    CHECK(runtime::review_needs(volcano_runtime("system-cluster-critical")) == std::vector{want});
    Json other = volcano_runtime("high");
    other["spec"].erase("podGroupPolicy");
    CHECK(runtime::review_needs(other).empty());
}

TEST_CASE("a queue of Volcano is not empty", "[admission]") {
    const std::vector<Json> one = {high};
    const std::string in_patch = "spec.runtimePatches[0].trainingRuntimeSpec.template." + queue;
    const std::string empty =
        "spec.runtimeRef: the annotation scheduling.volcano.sh/queue-name of the JobSet must not be empty";
    Json runtime = volcano_runtime("high");
    const Json patched =
        changed(train_job(), {{"spec.runtimePatches[0].manager", "a.io/x"}, {in_patch.c_str(), "fast"}});
    at(runtime, "spec.template." + queue) = "";
    CHECK(review(train_job(), runtime, &one) == empty);
    CHECK(review(patched, runtime, &one).empty());
    at(runtime, "spec.template." + queue) = "slow";
    CHECK(review(train_job(), runtime, &one).empty());
    CHECK(review(changed(patched, {{in_patch.c_str(), "\"\""}}), runtime, &one) == empty);
}
