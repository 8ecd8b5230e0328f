// The warnings of admission for a valid TrainJob with some changes.
#include "fixtures.hpp"
#include "runtime/validation.hpp"

using api::Json;

TEST_CASE("there are warnings for settings without the expected effect", "[admission]") {
    struct Case {
        const char* name;
        std::vector<Change> job;
        std::vector<Change> runtime;
        const char* want;  // a part of the only warning; empty: none
    };
    const char* claims = "spec.template.spec.replicatedJobs[0].template.spec.template.spec.resourceClaims";
    const char* node_claims =
        "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0].resources.claims";
    const char* node_limits =
        "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0].resources.limits";
    const char* one_claim = "[{name: a, resourceClaimTemplateName: x}]";
    const Case cases[] = {
        {"nothing to say", {}, {}, ""},
        {"deprecated_runtime_used: a deprecated runtime",
         {},
         {{"metadata.labels", "{trainer.kubeflow.org/support: deprecated}"}},
         "ClusterTrainingRuntime \"runtime\" is deprecated: see https://"},
        {"deprecated_runtime_used: only that word",
         {},
         {{"metadata.labels", "{trainer.kubeflow.org/support: Deprecated}"}},
         ""},
        {"uncounted_devices: devices that are not counted",
         {},
         {{claims, one_claim}, {node_claims, "[{name: a}]"}, {"spec.mlPolicy", "{torch: {}}"}},
         "spec.trainer.numProcPerNode is unset"},
        {"uncounted_devices: those of the TrainJob",
         {{"spec.trainer.resourceClaimsPerNode", "[{name: a, resourceClaimTemplateName: x}]"}},
         {{"spec.mlPolicy", "{torch: {}}"}},
         "spec.trainer.numProcPerNode is unset"},
        {"uncounted_devices: unless the user does",
         {{"spec.trainer.numProcPerNode", "2"}},
         {{claims, one_claim}, {node_claims, "[{name: a}]"}, {"spec.mlPolicy", "{torch: {}}"}},
         ""},
        {"uncounted_devices: unless there are GPUs",
         {},
         {{claims, one_claim},
          {node_claims, "[{name: a}]"},
          {node_limits, "{nvidia.com/gpu: 1}"},
          {"spec.mlPolicy", "{torch: {}}"}},
         ""},
        {"uncounted_devices: unless there are TPUs",
         {},
         {{claims, one_claim},
          {node_claims, "[{name: a}]"},
          {node_limits, "{google.com/tpu: 1}"},
          {"spec.mlPolicy", "{torch: {}}"}},
         ""},
        {"uncounted_devices: a resource in no table",
         {{"spec.trainer.resourcesPerNode", "{limits: {acme.com/npu: 4}}"}},
         {{"spec.mlPolicy", "{torch: {}}"}},
         "resource \"acme.com/npu\" is in no table of accelerators (--accelerators): set "
         "spec.trainer.numProcPerNode"},
        {"uncounted_devices: of the runtime",
         {},
         {{node_limits, "{acme.com/gpu-mem: 15}"}, {"spec.mlPolicy", "{xgboost: {}}"}},
         "resource \"acme.com/gpu-mem\" is in no table"},
        {"uncounted_devices: unless it is not needed",
         {{"spec.trainer.numProcPerNode", "4"}},
         {{node_limits, "{acme.com/npu: 4}"}, {"spec.mlPolicy", "{xgboost: {}}"}},
         ""},
        {"uncounted_devices: unless the runtime says the number",
         {},
         {{node_limits, "{acme.com/npu: 4}"}, {"spec.mlPolicy", "{torch: {numProcPerNode: 4}}"}},
         ""},
        {"uncounted_devices: unless the runtime says the slots",
         {},
         {{node_limits, "{acme.com/npu: 4}"}, {"spec.mlPolicy", "{mpi: {numProcPerNode: 4}}"}},
         ""},
        {"uncounted_devices: of Flux, which gives them to processes",
         {{"spec.trainer.numProcPerNode", "4"}},
         {{node_limits, "{acme.com/npu: 4}"}, {"spec.mlPolicy", "{flux: {}}"}},
         "resource \"acme.com/npu\" is in no table of accelerators (--accelerators)"},
        {"uncounted_devices: unknown devices behind a claim of Flux",
         {},
         {{claims, one_claim}, {node_claims, "[{name: a}]"}, {"spec.mlPolicy", "{flux: {}}"}},
         "the process count may not match the devices"},
        {"uncounted_devices: unless Flux has its number of processes from the runtime",
         {},
         {{claims, one_claim},
          {node_claims, "[{name: a}]"},
          {"spec.mlPolicy", "{flux: {numProcPerNode: 2}}"}},
         ""},
        {"uncounted_devices: unless the framework has one process",
         {},
         {{claims, one_claim}, {node_claims, "[{name: a}]"}, {"spec.mlPolicy", "{jax: {}}"}},
         ""},
        {"unused_claims: a claim that no container uses",
         {{"spec.trainer.numProcPerNode", "2"}},
         {{claims, one_claim}, {"spec.mlPolicy", "{torch: {}}"}},
         "no container of job \"node\" uses the claim \"a\" of its Pods"},
        {"shared_claims: Pods that share a claim",
         {{"spec.trainer.numProcPerNode", "2"}, {"spec.trainer.numNodes", "2"}},
         {{claims, "[{name: a, resourceClaimName: x}]"},
          {node_claims, "[{name: a}]"},
          {"spec.mlPolicy", "{torch: {}}"}},
         "all Pods of job \"node\" share one ResourceClaim, \"x\""},
        {"shared_claims: not by one Pod",
         {{"spec.trainer.numProcPerNode", "2"}, {"spec.trainer.numNodes", "1"}},
         {{claims, "[{name: a, resourceClaimName: x}]"},
          {node_claims, "[{name: a}]"},
          {"spec.mlPolicy", "{torch: {}}"}},
         ""},
        {"ignored_time_limits: a deadline in the runtime",
         {},
         {{"spec.template.spec.ttlSecondsAfterFinished", "1"}},
         "is ignored"},
        {"resources_without_policy: resources without a policy",
         {{"spec.trainer.resourcesPerNode", "{limits: {cpu: 1}}"}},
         {},
         "no effect"},
        {"shared_subdomain: a Service for all TrainJobs of the runtime",
         {},
         {{"spec.template.spec.network", "{subdomain: team}"}},
         "the runtime has a network.subdomain: TrainJobs share the first one's Service"},
        {"resources_without_policy: with a policy",
         {{"spec.trainer.resourcesPerNode", "{limits: {cpu: 1}}"}},
         {{"spec.mlPolicy", "{}"}},
         ""},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const Json job = changed(train_job(), c.job);
            const Json runtime = changed(plain_runtime(), c.runtime);
            const auto findings = runtime::validate_train_job(
                {.object = job, .old_object = Json(), .runtime = &runtime, .gates = runtime::Gates::all()});
            CHECK(findings.errors.empty());
            REQUIRE(findings.warnings.size() == (std::string_view(c.want).empty() ? 0 : 1));
            for (const auto& [text, rule] : findings.warnings) {
                CHECK(text.find(c.want) != std::string::npos);
                CHECK(text.size() <= (text.find("https://") == std::string::npos ? 120 : 256));
                CHECK(std::string(c.name).starts_with(std::string(rule.name()) + ": "));
            }
        }
    }
}
