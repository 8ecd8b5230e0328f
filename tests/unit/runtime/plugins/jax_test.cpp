// JAX.
#include "fixtures.hpp"

using api::Json;

TEST_CASE("JAX finds its coordinator, in variables that the user's can refer to", "[runtime]") {
    struct Case {
        const char* trainer;
        const char* want;
    };
    const Case cases[] = {
        {"{numNodes: 3, env: [{name: U, value: u}]}",
         "JAX_NUM_PROCESSES=3 JAX_PROCESS_ID=<field> JAX_COORDINATOR_ADDRESS=job-node-0-0.job:29500 U=u"},
        {"null", "JAX_NUM_PROCESSES=1 JAX_PROCESS_ID=<field> JAX_COORDINATOR_ADDRESS=job-node-0-0.job:29500"},
        {"{env: [{name: JAX_PROCESS_ID, value: \"7\"}]}",
         "JAX_NUM_PROCESSES=1 JAX_PROCESS_ID=7 JAX_COORDINATOR_ADDRESS=job-node-0-0.job:29500"},
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.trainer) {
            const Json node = trainer_node("jax", c.trainer);
            CHECK(env_text(node) == c.want);
            CHECK(node["ports"] == tree("[{containerPort: 29500}]"));
        }
}

TEST_CASE("JAX needs no claims: it has one process per node", "[runtime]") {
    Json runtime = runtime_with("jax");
    Json& pod = at(runtime, "spec.template.spec.replicatedJobs[0].template.spec.template.spec");
    pod["resourceClaims"] = tree("[{name: gpus, resourceClaimTemplateName: gpus}]");
    pod["containers"].items()[0]["resources"]["claims"] = tree("[{name: gpus}]");
    CHECK(runtime::needs(api::parse_train_job(train_job()), runtime).objects.empty());
}

TEST_CASE("JAX does nothing where no job trains", "[runtime]") {
    CHECK(node_without_trainer("jax") == tree("{name: node, image: \"train:1\"}"));
}
