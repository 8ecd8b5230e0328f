// Parts of building that do not depend on the policy.
#include "runtime/build.hpp"

#include "fixtures.hpp"
#include "runtime/validation.hpp"

using api::Json;

namespace {

constexpr const char* ancestor =
    "spec.template.spec.replicatedJobs[0].template.metadata.labels."
    "\"trainer.kubeflow.org/trainjob-ancestor-step\"";
constexpr const char* frameworks[] = {"torch", "jax", "xgboost"};

}  // namespace

TEST_CASE("Pods are counted by policy, template and TrainJob", "[runtime]") {
    struct Case {
        const char* name;
        std::vector<Change> runtime;
        const char* num_nodes;  // nullptr: unset
        int want;
    };
    const char* parallelism = "spec.template.spec.replicatedJobs[0].template.spec.parallelism";
    const Case cases[] = {
        {"one is the least", {}, nullptr, 1},
        {"without a policy the template counts", {{parallelism, "3"}}, nullptr, 3},
        {"a template with zero counts as one", {{parallelism, "0"}}, nullptr, 1},
        {"a policy hides the template", {{parallelism, "3"}, {"spec.mlPolicy", "{}"}}, nullptr, 1},
        {"a policy says how many", {{parallelism, "3"}, {"spec.mlPolicy.numNodes", "5"}}, nullptr, 5},
        {"a policy with zero counts as one", {{"spec.mlPolicy.numNodes", "0"}}, nullptr, 1},
        {"the TrainJob beats the template", {{parallelism, "3"}}, "4", 4},
        {"the TrainJob beats the policy", {{"spec.mlPolicy.numNodes", "5"}}, "4", 4},
        {"the TrainJob may say one", {{"spec.mlPolicy.numNodes", "5"}}, "1", 1},
        {"the TrainJob may say zero", {{"spec.mlPolicy.numNodes", "5"}}, "0", 0},
        {"a policy means nothing to a job that does not train",
         {{ancestor, "model-initializer"}, {"spec.mlPolicy.numNodes", "5"}, {parallelism, "3"}},
         nullptr,
         3},
        {"nor does the TrainJob", {{ancestor, "model-initializer"}, {parallelism, "3"}}, "4", 3},
        {"an unlabelled job follows its template", {{ancestor, "other"}, {parallelism, "3"}}, "4", 3},
        {"Torch trains on so many", {{"spec.mlPolicy.torch", "{}"}}, "4", 4},
        {"JAX trains on so many", {{"spec.mlPolicy.jax", "{}"}}, "4", 4},
        {"XGBoost trains on so many", {{"spec.mlPolicy.xgboost", "{}"}}, "4", 4},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            Json job = train_job();
            if (c.num_nodes) at(job, "spec.trainer.numNodes") = tree(c.num_nodes);
            const Json job_set = build_job_set(job, changed(plain_runtime(), c.runtime)).value();
            const Json& spec = job_set["spec"]["replicatedJobs"][0]["template"]["spec"];
            CHECK(spec["parallelism"] == c.want);
            CHECK(spec["completions"] == c.want);
        }
    }
}

TEST_CASE("jobs of the three steps have one replica, others keep their number", "[runtime]") {
    const char* replicas = "spec.template.spec.replicatedJobs[0].replicas";
    const auto built = [](const std::vector<Change>& changes) {
        const Json job_set = build_job_set(train_job(), changed(plain_runtime(), changes)).value();
        return job_set["spec"]["replicatedJobs"][0]["replicas"];
    };
    for (const char* step : {"trainer", "dataset-initializer", "model-initializer"})
        CHECK(built({{ancestor, step}, {replicas, "3"}}) == 1);
    CHECK(built({{ancestor, "eval"}, {replicas, "3"}}) == 3);
    CHECK(built({{ancestor, "eval"}}).is_null());
}

TEST_CASE("fields that JobSet refuses if they are empty are omitted then", "[runtime]") {
    const auto built = [](const char* group, const char* needed, const char* manager) {
        return build_job_set(
                   train_job(),
                   changed(plain_runtime(), {{"spec.template.spec.managedBy", manager},
                                             {"spec.template.spec.replicatedJobs[0].groupName", group},
                                             {"spec.template.spec.replicatedJobs[0].dependsOn", needed}}))
            .value()["spec"];
    };
    const Json empty = built("\"\"", "[]", "\"\"");
    CHECK_FALSE(empty.contains("managedBy"));
    CHECK_FALSE(empty["replicatedJobs"][0].contains("groupName"));
    CHECK_FALSE(empty["replicatedJobs"][0].contains("dependsOn"));
    const Json full = built("g", "[{name: other, status: Ready}]", "example.com/x");
    CHECK(full["managedBy"] == "example.com/x");
    CHECK(full["replicatedJobs"][0]["groupName"] == "g");
    CHECK(full["replicatedJobs"][0]["dependsOn"].items().size() == 1);
}

TEST_CASE("a Job's completions follow its parallelism", "[runtime]") {
    const Json runtime =
        changed(plain_runtime(), {{ancestor, "eval"},
                                  {"spec.template.spec.replicatedJobs[0].template.spec.parallelism", "3"},
                                  {"spec.template.spec.replicatedJobs[0].template.spec.completions", "6"}});
    const Json job_set = build_job_set(train_job(), runtime).value();
    CHECK(job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["completions"] == 3);
}

TEST_CASE("replicated jobs keep the runtime's order, in any order of patches", "[runtime]") {
    Json runtime = plain_runtime();
    Json& jobs = at(runtime, "spec.template.spec.replicatedJobs");
    for (const char* name : {"second", "third"}) jobs.push_back(Json::object({{"name", name}}));
    const Json job = changed(train_job(), {{"spec.runtimePatches", R"([
        {manager: a.io/x, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [
          {name: third, template: {metadata: {labels: {a: b}}}}, {name: node}]}}}}])"}});
    const Json job_set = build_job_set(job, runtime).value();
    std::string order;
    for (const Json& replicated : job_set["spec"]["replicatedJobs"].items())
        order += std::string(replicated["name"].as_string()) + " ";
    CHECK(order == "node second third ");
}

TEST_CASE("Kueue's tolerations are added to those there are, and other managers' replace them", "[runtime]") {
    const char* const pod = "spec.template.spec.replicatedJobs[0].template.spec.template.spec.tolerations";
    const auto patch = [](const std::string& manager, const std::string& tolerations) {
        return "{manager: " + manager +
               ", trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: "
               "{template: {spec: {tolerations: " +
               tolerations + "}}}}}]}}}}";
    };
    struct Case {
        const char* name;
        const char* runtime;
        std::string patches;
        const char* want;
    };
    const std::string kueue = "kueue.x-k8s.io/manager";
    const Case cases[] = {
        {"with the runtime's", "[{key: a}]", patch(kueue, "[{key: b}]"), "[{key: a}, {key: b}]"},
        {"equal ones once", "[{key: a, operator: Exists}]",
         patch(kueue, "[{operator: Exists, key: a}, {key: a}]"), "[{key: a, operator: Exists}, {key: a}]"},
        {"with those of a patch before", "[{key: a}]",
         patch("a.io/x", "[{key: x}]") + "," + patch(kueue, "[{key: b}]"), "[{key: x}, {key: b}]"},
        {"none of its own", "[{key: a}]", patch(kueue, "[]"), "[{key: a}]"},
        {"where there are none", "null", patch(kueue, "[{key: b}]"), "[{key: b}]"},
        {"another manager's", "[{key: a}]", patch("a.io/x", "[{key: b}]"), "[{key: b}]"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const Json job = changed(train_job(), {{"spec.runtimePatches", ("[" + c.patches + "]").c_str()}});
            const Json built = build_job_set(job, changed(plain_runtime(), {{pod, c.runtime}})).value();
            CHECK(built["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["tolerations"] ==
                  tree(c.want));
        }
    }
}

// The webhook refuses such a key; in stored objects it must not erase anything.
TEST_CASE("a key in a patch is never a directive of the merge", "[runtime]") {
    Json job = train_job();
    at(job, "spec.runtimePatches") = tree(
        "[{manager: a.io/x, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: "
        "{spec: {template: {spec: {nodeSelector: {$patch: replace, b: c}}}}}}]}}}}]");
    Json runtime = plain_runtime();
    const char* pod = "spec.template.spec.replicatedJobs[0].template.spec.template.spec.nodeSelector";
    at(runtime, pod) = tree("{a: b}");
    const Json job_set = build_job_set(job, runtime).value();
    CHECK(job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["nodeSelector"] ==
          tree("{$patch: replace, a: b, b: c}"));
}

// The API server's error names the missing field; a null would own the field.
TEST_CASE("the trainer's settings replace the runtime's, and its environment comes last", "[runtime]") {
    const Json runtime = changed(
        plain_runtime(), {{"spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0]",
                           "{name: node, image: i, command: [c], args: [a, b], env: [{name: A, value: "
                           "\"1\"}, {name: B, value: "
                           "\"1\"}]}"}});
    struct Case {
        const char* name;
        const char* trainer;
        const char* want;
    };
    const Case cases[] = {
        {"nothing set", "{}",
         "{name: node, image: i, command: [c], args: [a, b], env: [{name: A, value: \"1\"}, {name: B, value: "
         "\"1\"}]}"},
        {"no trainer", "null",
         "{name: node, image: i, command: [c], args: [a, b], env: [{name: A, value: \"1\"}, {name: B, value: "
         "\"1\"}]}"},
        {"everything set",
         "{image: j, command: [d, e], args: [f], env: [{name: C, value: \"\"}, {name: A, value: \"2\"}]}",
         "{name: node, image: j, command: [d, e], args: [f], env: [{name: A, value: \"2\"}, {name: B, value: "
         "\"1\"}, "
         "{name: C, value: \"\"}]}"},
        {"a source replaces a value",
         "{env: [{name: A, valueFrom: {fileKeyRef: {volumeName: v, path: p, key: k}}}]}",
         "{name: node, image: i, command: [c], args: [a, b], env: [{name: A, valueFrom: {fileKeyRef: "
         "{volumeName: v, "
         "path: p, key: k}}}, {name: B, value: \"1\"}]}"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const Json job = changed(train_job(), {{"spec.trainer", c.trainer}});
            CHECK(node_container(build_job_set(job, runtime).value()) == tree(c.want));
        }
    }
}

TEST_CASE("resources per node reach the container only under a policy", "[runtime]") {
    const Json job = changed(train_job(), {{"spec.trainer.resourcesPerNode", "{limits: {cpu: 4}}"}});
    const Json without = build_job_set(job, plain_runtime()).value();
    CHECK(node_container(without)["resources"].is_null());
    const Json with = build_job_set(job, changed(plain_runtime(), {{"spec.mlPolicy", "{}"}})).value();
    CHECK(node_container(with)["resources"] == tree("{limits: {cpu: 4}}"));
}

TEST_CASE("deadlines and TTLs of the template are removed, with a warning", "[runtime]") {
    const Json runtime = changed(
        plain_runtime(),
        {{"spec.template.spec.ttlSecondsAfterFinished", "1"},
         {"spec.template.spec.replicatedJobs[0].template.spec.activeDeadlineSeconds", "2"},
         {"spec.template.spec.replicatedJobs[0].template.spec.ttlSecondsAfterFinished", "3"},
         {"spec.template.spec.replicatedJobs[0].template.spec.template.spec.activeDeadlineSeconds", "4"}});
    const api::TrainJob job = api::parse_train_job(train_job());
    const auto built = runtime::build({.job = job, .runtime = runtime});
    REQUIRE(built.has_value());
    const Json& spec = built->objects.back().object["spec"];
    CHECK(spec["ttlSecondsAfterFinished"].is_null());
    CHECK(spec["replicatedJobs"][0]["template"]["spec"]["activeDeadlineSeconds"].is_null());
    CHECK(spec["replicatedJobs"][0]["template"]["spec"]["ttlSecondsAfterFinished"].is_null());
    CHECK(spec["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["activeDeadlineSeconds"] == 4);
    REQUIRE(built->warnings.size() == 1);
    CHECK(built->warnings[0].reason == "RuntimeFieldIgnored");
    CHECK(built->warnings[0].note.find("spec.template.spec.ttlSecondsAfterFinished") != std::string::npos);
}

TEST_CASE("equal inputs give equal bytes", "[runtime]") {
    for (const char* framework : frameworks) {
        const Json job = changed(train_job(), {{"spec.trainer",
                                                "{numNodes: 2, env: [{name: Z, value: a}, {name: A, "
                                                "value: z}]}"}});
        const std::string first = to_json(build_job_set(job, runtime_with(framework)).value());
        for (int i = 0; i < 20; ++i)
            CHECK(to_json(build_job_set(job, runtime_with(framework)).value()) == first);
    }
}

TEST_CASE("an input that cannot be built is an error with its field", "[runtime]") {
    struct Case {
        const char* name;
        std::vector<Change> job;
        std::vector<Change> runtime;
        const char* field;
    };
    const auto patch = [](const char* value) { return Change{"spec.runtimePatches", value}; };
    const Case cases[] = {
        {"two jobs that train",
         {},
         {{"spec.template.spec.replicatedJobs[1]",
           "{name: b, template: {metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: "
           "trainer}}}}"}},
         "spec.template.spec.replicatedJobs[1].template.metadata.labels"},
        {"no host names for a framework that needs them",
         {},
         {{"spec.mlPolicy.torch", "{}"}, {"spec.template.spec.network.enableDNSHostnames", "false"}},
         "spec.template.spec.network.enableDNSHostnames"},
        {"a job without a name",
         {},
         {{"spec.template.spec.replicatedJobs[0].name", "''"}},
         "spec.template.spec.replicatedJobs[0].name"},
        {"a job with a name that no Pod can have",
         {},
         {{"spec.template.spec.replicatedJobs[0].name", "-x"}},
         "spec.template.spec.replicatedJobs[0].name"},
        {"a patch for an unknown job",
         {patch("[{manager: a.io/x, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: "
                "ghost}]}}}}]")},
         {},
         "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].name"},
        {"a patch for an unknown container",
         {patch("[{manager: a.io/x, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, "
                "template: "
                "{spec: {template: {spec: {initContainers: [{name: node}]}}}}}]}}}}]")},
         {},
         "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec.template."
         "spec."
         "initContainers[0].name"},
        {"a patch of one of our own labels",
         {patch("[{manager: a.io/x, trainingRuntimeSpec: {template: {metadata: {labels: "
                "{trainer.kubeflow.org/x: "
                "a}}}}}]")},
         {},
         "spec.runtimePatches[0]"},
        {"a patch that cannot be merged",
         {patch("[{manager: a.io/x, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, "
                "template: "
                "{spec: {template: {spec: {imagePullSecrets: [{}]}}}}}]}}}}]")},
         {{"spec.template.spec.replicatedJobs[0].template.spec.template.spec.imagePullSecrets",
           "[{name: a}]"}},
         "spec.runtimePatches[0]"},
        {"jobs that are no list",
         {},
         {{"spec.template.spec.replicatedJobs", "{}"}},
         "spec.template.spec.replicatedJobs"},
        {"a job that is no object",
         {},
         {{"spec.template.spec.replicatedJobs", "[x]"}},
         "spec.template.spec.replicatedJobs[0]"},
        {"an environment that is no list",
         {},
         {{"spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0].env", "{}"}},
         "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0].env"},
        {"a trainer that is no object", {{"spec.trainer", "x"}}, {}, "spec.trainer"},
        {"a variable that is no object", {{"spec.trainer.env", "[{name: A}, x]"}}, {}, "spec.trainer.env[1]"},
        {"patches that are no list", {{"spec.runtimePatches", "foo"}}, {}, "spec.runtimePatches"},
        {"no spec", {{"spec", "null"}}, {}, "spec"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const auto built =
                build_job_set(changed(train_job(), c.job), changed(plain_runtime(), c.runtime));
            REQUIRE_FALSE(built.has_value());
            CHECK(built.error().code == api::Errc::invalid);
            CHECK(built.error().field == c.field);
            CHECK_FALSE(built.error().message.empty());
        }
    }
}

TEST_CASE("numbers outside of all ranges cause no crash", "[runtime]") {
    for (const char* number : {"-9223372036854775808", "9223372036854775807", "-1", "1.5", "many"})
        for (const char* framework : {"none", "torch", "jax", "xgboost", "mpi", "flux"}) {
            DYNAMIC_SECTION(framework << " with " << number) {
                const Json job = changed(
                    train_job(), {{"spec.trainer.numNodes", number},
                                  {"spec.trainer.numProcPerNode", number},
                                  {"spec.trainer.resourcesPerNode.limits.\"nvidia.com/gpu\"", number}});
                const Json runtime =
                    changed(runtime_with(framework),
                            {{"spec.mlPolicy.numNodes", number},
                             {"spec.template.spec.replicatedJobs[0].replicas", number},
                             {"spec.template.spec.replicatedJobs[0].template.spec.parallelism", number}});
                const auto built = build_job_set(job, runtime);
                if (!built) CHECK(built.error().code == api::Errc::invalid);
                runtime::validate_train_job({.object = job, .old_object = Json(), .runtime = &runtime});
                runtime::validate_runtime(runtime, Json());
            }
        }
}

TEST_CASE("a policy that is not set needs no observed objects", "[runtime]") {
    CHECK(runtime::needs(api::parse_train_job(train_job()), plain_runtime()) == runtime::Needs());
    CHECK(runtime::needs(api::parse_train_job(Json("x")), Json::array()) == runtime::Needs());
}
