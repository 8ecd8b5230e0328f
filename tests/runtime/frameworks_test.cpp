// The frameworks that need little: PlainML, JAX, XGBoost; and the initializers, which go with any.
#include "fixtures.hpp"

using api::Json;

namespace {

Json node_of(const char* framework, const char* trainer, const std::vector<Change>& runtime = {}) {
    const Json job = changed(train_job(), {{"spec.trainer", trainer}});
    const auto built = build_job_set(job, changed(runtime_with(framework), runtime));
    if (!built) FAIL(built.error());
    return node_container(*built);
}

const char* const container =
    "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0]";
const char* const user_env = "{numNodes: 3, env: [{name: U, value: u}]}";

}  // namespace

TEST_CASE("each framework gets its variables, in an order that the user's can refer to", "[runtime]") {
    struct Case {
        const char* framework;
        const char* trainer;
        const char* want;
    };
    const Case cases[] = {
        {"none", user_env, "U=u"},
        {"jax", user_env,
         "JAX_NUM_PROCESSES=3 JAX_PROCESS_ID=<field> JAX_COORDINATOR_ADDRESS=job-node-0-0.job:29500 U=u"},
        {"jax", "null",
         "JAX_NUM_PROCESSES=1 JAX_PROCESS_ID=<field> JAX_COORDINATOR_ADDRESS=job-node-0-0.job:29500"},
        {"jax", "{env: [{name: JAX_PROCESS_ID, value: \"7\"}]}",
         "JAX_NUM_PROCESSES=1 JAX_PROCESS_ID=7 JAX_COORDINATOR_ADDRESS=job-node-0-0.job:29500"},
        {"xgboost", user_env,
         "U=u DMLC_TRACKER_URI=job-node-0-0.job DMLC_TRACKER_PORT=29500 DMLC_TASK_ID=<field> "
         "DMLC_NUM_WORKER=3"},
        {"xgboost", "null",
         "DMLC_TRACKER_URI=job-node-0-0.job DMLC_TRACKER_PORT=29500 DMLC_TASK_ID=<field> DMLC_NUM_WORKER=1"},
        {"xgboost", "{numNodes: 2, resourcesPerNode: {limits: {nvidia.com/gpu: 4}}}",
         "DMLC_TRACKER_URI=job-node-0-0.job DMLC_TRACKER_PORT=29500 DMLC_TASK_ID=<field> DMLC_NUM_WORKER=8"},
        {"xgboost", "{numNodes: 0}",
         "DMLC_TRACKER_URI=job-node-0-0.job DMLC_TRACKER_PORT=29500 DMLC_TASK_ID=<field> DMLC_NUM_WORKER=0"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.framework << " with " << c.trainer) {
            const Json node = node_of(c.framework, c.trainer);
            CHECK(env_text(node) == c.want);
            const bool has_port = std::string_view(c.framework) != "none";
            CHECK(node["ports"] == (has_port ? tree("[{containerPort: 29500}]") : Json()));
        }
    }
}

TEST_CASE("a framework's variables in the runtime are overwritten where they stand", "[runtime]") {
    const Change stale = {container,
                          "{name: node, env: [{name: DMLC_TASK_ID, value: x}, {name: R, value: r}]}"};
    CHECK(env_text(node_of("xgboost", "{}", {stale})) ==
          "DMLC_TASK_ID=<field> R=r DMLC_TRACKER_URI=job-node-0-0.job DMLC_TRACKER_PORT=29500 "
          "DMLC_NUM_WORKER=1");
}

TEST_CASE("too many workers are an error, not an overflow", "[runtime]") {
    const Json job = changed(train_job(), {{"spec.trainer",
                                            "{numNodes: 2147483647, resourcesPerNode: {limits: "
                                            "{nvidia.com/gpu: 9223372036854775807}}}"}});
    const auto built = build_job_set(job, runtime_with("xgboost"));
    REQUIRE_FALSE(built);
    CHECK(built.error().field == "spec.trainer.numNodes");
}

TEST_CASE("frameworks do nothing where nobody trains", "[runtime]") {
    for (const char* framework : {"torch", "jax", "xgboost"}) {
        DYNAMIC_SECTION(framework) {
            const Json node = node_of(framework, user_env,
                                      {{"spec.template.spec.replicatedJobs[0].template.metadata", "{}"}});
            CHECK(node == tree("{name: node, image: \"train:1\"}"));
        }
    }
}

TEST_CASE("initializers are told where to download from", "[runtime]") {
    struct Case {
        const char* name;
        const char* initializer;
        const char* want;  // of the container, beside its name
    };
    const Case cases[] = {
        {"nothing", "null", "{env: [{name: STORAGE_URI, value: old}, {name: A, value: a}]}"},
        {"nothing for this step", "{model: {storageUri: s3://m}}",
         "{env: [{name: STORAGE_URI, value: old}, {name: A, value: a}]}"},
        {"a place", "{dataset: {storageUri: hf://d}}",
         "{env: [{name: STORAGE_URI, value: hf://d}, {name: A, value: a}]}"},
        {"an empty place", "{dataset: {storageUri: \"\"}}",
         "{env: [{name: STORAGE_URI, value: \"\"}, {name: A, value: a}]}"},
        {"variables, which win",
         "{dataset: {storageUri: hf://d, env: [{name: STORAGE_URI, value: mine}, {name: B, value: b}]}}",
         "{env: [{name: STORAGE_URI, value: mine}, {name: A, value: a}, {name: B, value: b}]}"},
        {"credentials", "{dataset: {secretRef: {name: s}}}",
         "{env: [{name: STORAGE_URI, value: old}, {name: A, value: a}], envFrom: [{secretRef: {name: s}}]}"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            // Found by label: the job's name plays no role.
            const Json runtime =
                changed(plain_runtime(), {{"spec.template.spec.replicatedJobs[1]",
                                           "{name: fetch, replicas: 2, template: {metadata: {labels: "
                                           "{trainer.kubeflow.org/trainjob-ancestor-step: "
                                           "dataset-initializer}}, spec: {template: {spec: "
                                           "{containers: [{name: dataset-initializer, env: [{name: "
                                           "STORAGE_URI, value: old}, {name: A, value: "
                                           "a}]}]}}}}}"}});
            const Json job = changed(train_job(), {{"spec.initializer", c.initializer}});
            const Json job_set = build_job_set(job, runtime).value();
            const Json& fetch = job_set["spec"]["replicatedJobs"][1];
            Json have = fetch["template"]["spec"]["template"]["spec"]["containers"][0];
            have.erase("name");
            CHECK(have == tree(c.want));
            CHECK(fetch["replicas"] == 1);
        }
    }
}
