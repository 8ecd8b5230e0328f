// XGBoost.
#include "fixtures.hpp"

using api::Json;

TEST_CASE("XGBoost finds its tracker, in variables that follow the user's", "[runtime]") {
    struct Case {
        const char* trainer;
        const char* want;
    };
    const Case cases[] = {
        {"{numNodes: 3, env: [{name: U, value: u}]}",
         "U=u DMLC_TRACKER_URI=job-node-0-0.job DMLC_TRACKER_PORT=29500 DMLC_TASK_ID=<field> "
         "DMLC_NUM_WORKER=3"},
        {"null",
         "DMLC_TRACKER_URI=job-node-0-0.job DMLC_TRACKER_PORT=29500 DMLC_TASK_ID=<field> DMLC_NUM_WORKER=1"},
        {"{numNodes: 2, resourcesPerNode: {limits: {nvidia.com/gpu: 4}}}",
         "DMLC_TRACKER_URI=job-node-0-0.job DMLC_TRACKER_PORT=29500 DMLC_TASK_ID=<field> DMLC_NUM_WORKER=8"},
        {"{numNodes: 2, numProcPerNode: 3, resourcesPerNode: {limits: {nvidia.com/gpu: 4}}}",
         "DMLC_TRACKER_URI=job-node-0-0.job DMLC_TRACKER_PORT=29500 DMLC_TASK_ID=<field> DMLC_NUM_WORKER=6"},
        {"{numNodes: 0}",
         "DMLC_TRACKER_URI=job-node-0-0.job DMLC_TRACKER_PORT=29500 DMLC_TASK_ID=<field> DMLC_NUM_WORKER=0"},
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.trainer) {
            const Json node = trainer_node("xgboost", c.trainer);
            CHECK(env_text(node) == c.want);
            CHECK(node["ports"] == tree("[{containerPort: 29500}]"));
        }
}

TEST_CASE("XGBoost's variables in the runtime are overwritten where they stand", "[runtime]") {
    const Change stale = {
        "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0]",
        "{name: node, image: i, env: [{name: DMLC_TASK_ID, value: x}, {name: R, value: r}]}"};
    CHECK(env_text(trainer_node("xgboost", "{}", {stale})) ==
          "DMLC_TASK_ID=<field> R=r DMLC_TRACKER_URI=job-node-0-0.job DMLC_TRACKER_PORT=29500 "
          "DMLC_NUM_WORKER=1");
}

TEST_CASE("too many workers are an error, not an overflow", "[runtime]") {
    const Json job = changed(train_job(), {{"spec.trainer",
                                            "{numNodes: 2147483647, resourcesPerNode: {limits: "
                                            "{nvidia.com/gpu: 9223372036854775}}}"}});
    const auto built = build_job_set(job, runtime_with("xgboost"));
    REQUIRE_FALSE(built);
    CHECK(built.error().field == "spec.trainer.numNodes");
}

TEST_CASE("XGBoost does nothing where no job trains", "[runtime]") {
    CHECK(node_without_trainer("xgboost") == tree("{name: node, image: \"train:1\"}"));
}
