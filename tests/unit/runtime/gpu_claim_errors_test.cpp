// Which field the error of a wrong resource claim names.
#include "gpu_claims.hpp"

TEST_CASE("the error of a wrong claim names the TrainJob if that adds the claim", "[claims]") {
    const std::string patch = "spec.runtimePatches[1].trainingRuntimeSpec.template.spec.replicatedJobs[0]";
    const std::string patched_job = patch + ".name";
    const std::string patched_pod = patch + ".template.spec.template.spec";
    const std::string patched_claim = patched_pod + ".resourceClaims[0]";
    const std::string patched_reference = patched_pod + ".containers[0]";
    struct Case {
        const char* name;
        std::vector<Change> job;
        std::string want;
    };
    const Case cases[] = {
        {"resourcesPerNode",
         {{"spec.trainer.resourcesPerNode.claims", "[{name: gpus}, {name: other}]"}},
         "spec.trainer.resourcesPerNode.claims[1].name"},
        {"a patch's claim",
         {{"spec.runtimePatches[0]", "{manager: a.io/x}"},
          {patched_job.c_str(), "node"},
          {patched_claim.c_str(), "{name: more}"}},
         patched_claim},
        {"a patch's reference",
         {{"spec.runtimePatches[0]", "{manager: a.io/x}"},
          {patched_job.c_str(), "node"},
          {patched_reference.c_str(), "{name: node, resources: {claims: [{name: more}]}}"}},
         patched_reference + ".resources.claims[0].name"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const auto built = build_job_set(changed(train_job(), c.job), runtime_with_claim("xgboost"));
            REQUIRE_FALSE(built);
            CHECK(built.error().field == c.want);
        }
    }
}

TEST_CASE("a claim that the Pod lacks, or without exactly one source, is an error", "[claims]") {
    const std::string path = "spec.template.spec.replicatedJobs[0].template.spec.template.spec";
    CHECK(counted(runtime_with_claim("xgboost", "{resourceClaimName: x}", "[{name: gpus}, {name: other}]"),
                  {}) == path +
                             ".containers[0].resources.claims[1].name: no such claim: it must be in "
                             "resourceClaims of the Pod");
    for (const char* source :
         {"{}", "{resourceClaimName: x, resourceClaimTemplateName: y}", "{resourceClaimName: \"\"}"})
        CHECK(counted(runtime_with_claim("xgboost", source), {}) ==
              path +
                  ".resourceClaims[0]: must have exactly one of resourceClaimName and "
                  "resourceClaimTemplateName");
}
