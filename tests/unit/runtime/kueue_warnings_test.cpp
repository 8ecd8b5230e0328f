// Warnings for a TrainJob that enters a queue of Kueue.
#include "fixtures.hpp"
#include "runtime/validation.hpp"

using api::Json;
using runtime::KueueTypes;

namespace {

const char* const container =
    "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0].resources";

Json queued(std::vector<Change> changes) {
    changes.push_back({"metadata.labels.\"kueue.x-k8s.io/queue-name\"", "team"});
    return changed(train_job(), changes);
}

std::vector<std::string> warnings(const Json& job, const Json& runtime, KueueTypes types,
                                  const Json& before = {}) {
    const auto findings = runtime::validate_train_job(
        {.object = job, .old_object = before, .runtime = &runtime, .kueue_types = types});
    std::vector<std::string> found;
    for (const auto& [text, rule] : findings.warnings) {
        CHECK(text.size() <= 120);
        const bool of_kueue = text.find("Kueue") != std::string::npos;
        CHECK(of_kueue == (rule == "kueue_counts_differ" || rule == "kueue_cannot_build"));
        if (of_kueue) found.push_back(text);
    }
    return found;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("there is a warning if Kueue counts other resources than Pods request", "[admission]") {
    struct Case {
        const char* name;
        const char* of_container;
        const char* per_node;
        const char* policy;
        Texts in_2_2;
        Texts in_2_3;
    };
    const Case cases[] = {
        {"the same amounts", "{requests: {cpu: 1}}", "{requests: {cpu: 2}}", "{}", {}, {}},
        {"no resourcesPerNode", "{requests: {cpu: 1}}", "null", "{}", {}, {}},
        {"a quantity in other words", "{requests: {cpu: 1}}", "{requests: {cpu: 1000m}}", "{}", {}, {}},
        {"what the runtime requests beside it",
         "{requests: {cpu: 4, memory: 8Gi}}",
         "{requests: {memory: 16Gi}}",
         "{}",
         {"Kueue counts cpu 0 for job node, its Pods request 4"},
         {}},
        {"the runtime's GPUs",
         "{limits: {nvidia.com/gpu: 2}}",
         "{requests: {cpu: 1}}",
         "{torch: {}}",
         {"Kueue counts nvidia.com/gpu 0 for job node, its Pods request 2"},
         {}},
        {"a limit of GPUs over the runtime's request",
         "{limits: {nvidia.com/gpu: 1}, requests: {nvidia.com/gpu: 1}}",
         "{limits: {nvidia.com/gpu: 4}}",
         "{}",
         {},
         {"Kueue counts nvidia.com/gpu 1 for job node, its Pods request 4"}},
        {"empty amounts",
         "{requests: {cpu: 1}}",
         "{limits: {}, requests: {}}",
         "{}",
         {"Kueue counts cpu 0 for job node, its Pods request 1"},
         {}},
        {"no amounts", "{requests: {cpu: 1}}", "{}", "{}", {}, {}},
        {"without a policy",
         "{requests: {cpu: 1}}",
         "{requests: {cpu: 2}}",
         "null",
         {"Kueue counts cpu 2 for job node, its Pods request 1"},
         {}},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const Json job = queued({{"spec.trainer.resourcesPerNode", c.per_node}});
            const Json runtime =
                changed(plain_runtime(), {{container, c.of_container}, {"spec.mlPolicy", c.policy}});
            CHECK(warnings(job, runtime, KueueTypes::v2_2) == c.in_2_2);
            CHECK(warnings(job, runtime, KueueTypes::v2_3) == c.in_2_3);
            CHECK(warnings(job, runtime, KueueTypes::none) == Texts());
            Json unqueued = job;
            unqueued["metadata"].erase("labels");
            CHECK(warnings(unqueued, runtime, KueueTypes::v2_2) == Texts());
            // An update that enters a queue gets it, and later ones do not.
            CHECK(warnings(job, runtime, KueueTypes::v2_2, unqueued) == c.in_2_2);
            CHECK(warnings(job, runtime, KueueTypes::v2_2, job) == Texts());
        }
    }
}

TEST_CASE("entering a queue is never refused, and causes no lookup of a runtime", "[admission]") {
    const Json job = queued({});
    Json unqueued = job;
    unqueued["metadata"].erase("labels");
    CHECK(runtime::lookups_for(job, unqueued) == runtime::RequiredInputs{.runtime_for_warnings = true});
    CHECK(runtime::lookups_for(unqueued, job) == runtime::RequiredInputs());
    CHECK(runtime::validate_train_job({.object = job, .old_object = unqueued}) ==
          runtime::ValidationResult());
    const Json broken = "x";
    CHECK(runtime::validate_train_job({.object = job, .old_object = unqueued, .runtime = &broken}) ==
          runtime::ValidationResult());
}

TEST_CASE("of very many counts that differ the first are reported, and none where nothing can be built",
          "[admission]") {
    const Json job = queued({{"spec.trainer.resourcesPerNode", "{requests: {x.io/a: 1}}"}});
    Json runtime = plain_runtime();
    for (int i = 0; i < 100; ++i)
        at(runtime, "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0]")
            ["resources"]["requests"]["x.io/own-" + std::to_string(i)] = 1;
    const auto found = [&] {
        return runtime::validate_train_job(
                   {.object = job, .runtime = &runtime, .kueue_types = KueueTypes::v2_2})
            .warnings;
    };
    CHECK(found().size() == 32);
    CHECK(found().more() > 60);
    // Two jobs that train.
    Json& jobs = at(runtime, "spec.template.spec.replicatedJobs");
    Json second = std::as_const(jobs)[0];
    second["name"] = "second";
    jobs.push_back(std::move(second));
    CHECK(warnings(job, runtime, KueueTypes::v2_2) == Texts());
}

TEST_CASE("there is a warning for a job that Kueue cannot build", "[admission]") {
    struct Case {
        const char* name;
        const char* policy;
        const char* trainer;
        Texts want;
    };
    const Case cases[] = {
        {"OpenMPI", "{mpi: {mpiImplementation: OpenMPI}}", "{}", {}},
        {"MPI as it is by default", "{mpi: {}}", "{}", {}},
        {"Intel MPI",
         "{mpi: {mpiImplementation: Intel}}",
         "{}",
         {"Kueue cannot build it: it does not know mpiImplementation Intel"}},
        {"MPICH",
         "{mpi: {mpiImplementation: MPICH}}",
         "{}",
         {"Kueue cannot build it: it does not know mpiImplementation MPICH"}},
        {"flux", "{flux: {}}", "{numNodes: 2}", {}},
        {"flux without a trainer",
         "{flux: {}}",
         "null",
         {"Kueue cannot build it: for flux it needs spec.trainer"}},
        {"torch", "{torch: {}}", "{command: [python]}", {}},
        {"torchtune",
         "{torch: {}}",
         "{command: [tune, run]}",
         {"Kueue cannot build it: it changes the command [tune, run], which is immutable"}},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const Json runtime = changed(plain_runtime(), {{"spec.mlPolicy", c.policy}});
            const Change trainer = {"spec.trainer", c.trainer};
            CHECK(warnings(queued({trainer}), runtime, KueueTypes::v2_2) == c.want);
            CHECK(warnings(queued({trainer}), runtime, KueueTypes::none) == Texts());
            // Kueue's webhook adds this to each TrainJob.
            const Json seen = changed(
                train_job(), {trainer, {"spec.runtimePatches", "[{manager: kueue.x-k8s.io/manager}]"}});
            CHECK(warnings(seen, runtime, KueueTypes::v2_3) == c.want);
            CHECK(warnings(changed(train_job(), {trainer}), runtime, KueueTypes::v2_2) == Texts());
        }
    }
}

TEST_CASE("there is a warning for a JAX job without a trainer, which Kueue 0.19 cannot build",
          "[admission]") {
    const auto found = [](const char* policy, const char* labels, KueueTypes types) {
        const Json runtime = changed(
            plain_runtime(), {{"spec.mlPolicy", policy},
                              {"spec.template.spec.replicatedJobs[0].template.metadata.labels", labels}});
        return warnings(queued({}), runtime, types);
    };
    const char* const trains = "{trainer.kubeflow.org/trainjob-ancestor-step: trainer}";
    CHECK(found("{jax: {}}", "{}", KueueTypes::v2_2) ==
          Texts{"Kueue cannot build it: for jax it needs a job with the label of the ancestor step trainer"});
    CHECK(found("{jax: {}}", "{}", KueueTypes::v2_3) == Texts());
    CHECK(found("{jax: {}}", trains, KueueTypes::v2_2) == Texts());
    CHECK(found("{xgboost: {}}", "{}", KueueTypes::v2_2) == Texts());
}

TEST_CASE("there is a warning for fields that a client has lost", "[admission]") {
    const auto job = [](const char* pod_spec) {
        return changed(train_job(),
                       {{"spec.suspend", "true"},
                        {"spec.runtimePatches",
                         (std::string("[{manager: a.io/x, trainingRuntimeSpec: {template: {spec: "
                                      "{replicatedJobs: [{name: node, template: {spec: {template: "
                                      "{spec: ") +
                          pod_spec + "}}}}]}}}}]")
                             .c_str()}});
    };
    const Json runtime = plain_runtime();
    const auto found = [&](const Json& before, const Json& after) {
        Texts texts;
        for (const auto& [text, rule] :
             runtime::validate_train_job({.object = after, .old_object = before, .runtime = &runtime})
                 .warnings) {
            CHECK(rule == "lost_fields");
            texts.push_back(text);
        }
        return texts;
    };
    const char* const claims = "{resourceClaims: [{name: c, resourceClaimName: x}]}";
    CHECK(found(job(claims), job("{}")) == Texts{"spec.runtimePatches[0] loses resourceClaims: if the client "
                                                 "does not know that field, put it into "
                                                 "--lossy-clients"});
    CHECK(found(job(claims), job("{nodeSelector: {a: b}}")) == Texts());
    CHECK(found(job("{nodeSelector: {a: b}}"), job("{}")) == Texts());
}
