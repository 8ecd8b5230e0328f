// The errors of admission for a valid TrainJob with one change.
#include "fixtures.hpp"
#include "runtime/validation.hpp"

using api::Json;

namespace {

// Returns "Invalid spec.x, Forbidden spec.y": type and field of each error, in order.
std::string text(const api::FieldErrors& errors) {
    std::string line;
    for (const api::FieldError& error : errors) {
        const std::string_view type = api::cause_reason(error.type);
        line += (line.empty() ? "" : ", ") + std::string(type.substr(std::string_view("FieldValue").size())) +
                " " + error.field;
    }
    return line;
}

std::string one_patch(const char* pod_spec) {
    return std::string(
               "[{manager: a.io/x, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, "
               "template: {spec: {template: {spec: ") +
           pod_spec + "}}}}]}}}}]";
}

std::string patches(int count) {
    std::string list = "[";
    for (int i = 0; i < count; ++i) list += "{manager: a.io/x" + std::to_string(i) + "}, ";
    return list + "]";
}

constexpr const char* patched_pod =
    "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0]."
    "template.spec.template.spec.";

}  // namespace

TEST_CASE("a new TrainJob is admitted unless it breaks a rule", "[admission]") {
    struct Case {
        const char* name;
        std::vector<Change> job;
        std::vector<Change> runtime;
        std::string want;
    };
    const std::string env_patch = one_patch("{containers: [{name: node, env: [{name: A, value: b}]}]}");
    const std::string ghost_patch =
        one_patch("{containers: [{name: ghost}], initContainers: [{name: node}]}");
    const std::string directive_patch = one_patch("{nodeSelector: {$patch: replace}}");
    const std::string nameless_patch = one_patch("{imagePullSecrets: [{}]}");
    const char* secrets = "spec.template.spec.replicatedJobs[0].template.spec.template.spec.imagePullSecrets";
    const char* parallelism = "spec.mlPolicy.numNodes";
    const std::string patches16 = patches(16), patches17 = patches(17);
    const std::string name48(48, 'a'), name49(49, 'a'), name47(47, 'a');
    const Case cases[] = {
        {"valid", {}, {}, ""},
        {"another kind", {{"spec.runtimeRef.kind", "Other"}}, {}, "Invalid spec.runtimeRef"},
        {"another group", {{"spec.runtimeRef.apiGroup", "other.io"}}, {}, "Invalid spec.runtimeRef"},
        {"a patch that cannot be merged",
         {{"spec.runtimePatches", nameless_patch.c_str()}},
         {{secrets, "[{name: a}]"}},
         "Invalid spec.runtimePatches[0]"},
        {"without a list there is nothing to merge with",
         {{"spec.runtimePatches", nameless_patch.c_str()}},
         {},
         ""},
        {"the longest name", {{"metadata.name", name48.c_str()}}, {}, ""},
        {"one more", {{"metadata.name", name49.c_str()}}, {}, "Invalid metadata.name"},
        {"ten nodes", {{"metadata.name", name48.c_str()}}, {{parallelism, "10"}}, ""},
        {"eleven nodes", {{"metadata.name", name48.c_str()}}, {{parallelism, "11"}}, "Invalid metadata.name"},
        {"the TrainJob's nodes count",
         {{"metadata.name", name48.c_str()}, {"spec.trainer.numNodes", "100"}},
         {},
         "Invalid metadata.name"},
        {"no node has an index of two characters",
         {{"metadata.name", name48.c_str()}, {"spec.trainer.numNodes", "0"}},
         {},
         "Invalid metadata.name"},
        {"that many fit", {{"metadata.name", name47.c_str()}, {"spec.trainer.numNodes", "0"}}, {}, ""},
        {"Jobs without indices have longer names",
         {{"metadata.name", "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffff"}},
         {{"spec.template.spec.replicatedJobs[0].template.spec.completionMode", "NonIndexed"}},
         ""},
        {"a coordinator's name counts twice",
         {{"metadata.name", "aaaaaaaaaabbbbbbbbbbccccccc"}},
         {{"spec.template.spec.coordinator", "{replicatedJob: node}"}},
         "Invalid metadata.name"},
        {"unless the subdomain has its own",
         {{"metadata.name", "aaaaaaaaaabbbbbbbbbbccccccc"}},
         {{"spec.template.spec.coordinator", "{replicatedJob: node}"},
          {"spec.template.spec.network.subdomain", "s"}},
         ""},
        {"a subdomain counts beside the coordinator",
         {{"metadata.name", "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeee"}},
         {{"spec.template.spec.coordinator", "{replicatedJob: node}"},
          {"spec.template.spec.network.subdomain", "ssssssssss"}},
         ""},
        {"one more beside the subdomain",
         {{"metadata.name", "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeee"}},
         {{"spec.template.spec.coordinator", "{replicatedJob: node}"},
          {"spec.template.spec.network.subdomain", "ssssssssss"}},
         "Invalid metadata.name"},
        {"no jobs for the initializers",
         {{"spec.initializer", "{dataset: {}, model: {}}"}},
         {},
         "Invalid spec.runtimeRef, Invalid spec.runtimeRef"},
        {"no container",
         {{"spec.initializer", "{dataset: {}}"}},
         {{"spec.template.spec.replicatedJobs[1]", "{name: dataset-initializer}"}},
         "Invalid spec.runtimeRef"},
        {"no mount",
         {{"spec.initializer", "{dataset: {}}"}},
         {{"spec.template.spec.replicatedJobs[1]",
           "{name: dataset-initializer, template: {spec: {template: {spec: {containers: [{name: "
           "dataset-initializer, image: i}]}}}}}"}},
         "Invalid spec.runtimeRef"},
        {"all there",
         {{"spec.initializer", "{dataset: {}}"}},
         {{"spec.template.spec.replicatedJobs[1]",
           "{name: dataset-initializer, template: {spec: {template: {spec: {containers: [{name: "
           "dataset-initializer, image: i, volumeMounts: [{name: initializer, mountPath: /w}]}]}}}}}"}},
         ""},
        {"environment of the node container",
         {{"spec.runtimePatches", env_patch.c_str()}},
         {},
         std::string("Invalid ") + patched_pod + "containers[0].env"},
        {"unknown containers, each kind on its own",
         {{"spec.runtimePatches", ghost_patch.c_str()}},
         {},
         std::string("Invalid ") + patched_pod + "initContainers[0].name, Invalid " + patched_pod +
             "containers[0].name"},
        {"an unknown job",
         {{"spec.runtimePatches",
           "[{manager: a.io/x, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: "
           "ghost}]}}}}]"}},
         {},
         "Invalid spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].name"},
        {"the environment of a container in an unknown job",
         {{"spec.runtimePatches",
           "[{manager: a.io/x, trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: ghost, "
           "template: "
           "{spec: {template: {spec: {containers: [{name: node, env: [{name: A}]}, {name: b}]}}}}}]}}}}]"}},
         {},
         std::string(
             "Invalid "
             "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].name, Invalid ") +
             patched_pod + "containers[0].env"},
        {"directives",
         {{"spec.runtimePatches", directive_patch.c_str()}},
         {},
         "Invalid spec.runtimePatches[0]"},
        {"our own labels",
         {{"spec.runtimePatches",
           "[{manager: a.io/x, trainingRuntimeSpec: {template: {metadata: {annotations: "
           "{trainer.kubeflow.org/a: "
           "b}}}}}]"}},
         {},
         "Invalid spec.runtimePatches[0]"},
        {"no manager",
         {{"spec.runtimePatches", "[{manager: \"\"}]"}},
         {},
         "Required spec.runtimePatches[0].manager"},
        {"no path",
         {{"spec.runtimePatches", "[{manager: a.io/x}, {manager: nodomain}]"}},
         {},
         "Invalid spec.runtimePatches[1].manager"},
        {"an empty path",
         {{"spec.runtimePatches", "[{manager: a.io/}]"}},
         {},
         "Invalid spec.runtimePatches[0].manager"},
        {"no domain",
         {{"spec.runtimePatches", "[{manager: A_b/x}]"}},
         {},
         "Invalid spec.runtimePatches[0].manager"},
        {"a label that ends with a hyphen",
         {{"spec.runtimePatches", "[{manager: a-.io/x}]"}},
         {},
         "Invalid spec.runtimePatches[0].manager"},
        {"a character that no path has",
         {{"spec.runtimePatches", "[{manager: \"a.io/x y\"}]"}},
         {},
         "Invalid spec.runtimePatches[0].manager"},
        {"neither a domain nor a path",
         {{"spec.runtimePatches", "[{manager: \"A/x y\"}]"}},
         {},
         "Invalid spec.runtimePatches[0].manager, Invalid spec.runtimePatches[0].manager"},
        {"a deep path", {{"spec.runtimePatches", "[{manager: \"a-1.b.io/x/y-z_(1)%20\"}]"}}, {}, ""},
        {"torch's variables",
         {{"spec.trainer.env", "[{name: PET_NNODES, value: a}, {name: PET_MASTER_ADDR, value: a}]"}},
         {{"spec.mlPolicy.torch", "{}"}},
         "Invalid spec.trainer.env"},
        {"not without torch", {{"spec.trainer.env", "[{name: PET_NNODES, value: a}]"}}, {}, ""},
        {"no such target",
         {},
         {{"spec.mlPolicy.torch.envInjection.targets", "[{jobName: ghost, containerNames: [a]}]"}},
         "Invalid spec.runtimeRef"},
        {"XGBoost's variables",
         {{"spec.trainer.env",
           "[{name: A}, {name: DMLC_TASK_ID, value: a}, {name: DMLC_NUM_WORKER, value: a}]"}},
         {{"spec.mlPolicy.xgboost", "{}"}},
         "Forbidden spec.trainer.env[1], Forbidden spec.trainer.env[2]"},
        {"all at once, in order",
         {{"metadata.name", name49.c_str()},
          {"spec.runtimePatches",
           "[{manager: nodomain, trainingRuntimeSpec: {template: {spec: {replicatedJobs: "
           "[{name: ghost}]}}}}]"},
          {"spec.initializer", "{model: {}}"},
          {"spec.trainer.env", "[{name: PET_NNODES, value: a}]"}},
         {{"spec.mlPolicy.torch", "{}"}},
         "Invalid metadata.name, Invalid "
         "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].name, Invalid "
         "spec.runtimePatches[0].manager, Invalid spec.trainer.env, Invalid spec.runtimeRef"},
        {"as many patches as the schema admits", {{"spec.runtimePatches", patches16.c_str()}}, {}, ""},
        {"one more", {{"spec.runtimePatches", patches17.c_str()}}, {}, "Invalid spec.runtimePatches"},
        {"an odd shape", {{"spec.trainer", "{env: foo}"}}, {}, "Invalid spec.trainer.env"},
        {"an odd runtime", {}, {{"spec.template.spec.replicatedJobs", "foo"}}, "Invalid spec.runtimeRef"},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const Json job = changed(train_job(), c.job);
            const Json runtime = changed(plain_runtime(), c.runtime);
            const auto findings =
                runtime::validate_train_job({.object = job, .old_object = Json(), .runtime = &runtime});
            CHECK(text(findings.errors) == c.want);
            for (const api::FieldError& error : findings.errors) CHECK_FALSE(error.detail.empty());
        }
    }
}

TEST_CASE("a TrainJob without its runtime is refused", "[admission]") {
    const Json job = changed(train_job(), {{"spec.runtimePatches", "[{manager: nodomain}]"}});
    const auto findings = runtime::validate_train_job({.object = job, .old_object = Json()});
    CHECK(text(findings.errors) == "Invalid spec.runtimeRef, Invalid spec.runtimePatches[0].manager");
}

TEST_CASE("an update is validated by its changes", "[admission]") {
    struct Case {
        const char* name;
        std::vector<Change> before;
        std::vector<Change> after;  // besides the fields before
        const char* job_set;        // replicatedJobsStatus; nullptr: there is none
        std::string want;
    };
    const char* patches = "spec.runtimePatches";
    const char* one = "[{manager: a.io/x, time: t}]";
    const char* two = "[{manager: a.io/x, time: t}, {manager: a.io/y}]";
    const Change suspended = {"spec.suspend", "true"};
    const Case cases[] = {
        {"nothing", {}, {}, nullptr, ""},
        {"a label", {}, {{"metadata.labels", "{a: b}"}}, nullptr, ""},
        {"suspend", {}, {suspended}, nullptr, ""},
        {"resume", {suspended}, {{"spec.suspend", "false"}}, nullptr, ""},
        {"a patch while it runs", {}, {{patches, one}}, nullptr, "Forbidden spec.runtimePatches"},
        {"a patch taken away while it runs",
         {{patches, one}},
         {{patches, "[]"}},
         nullptr,
         "Forbidden spec.runtimePatches"},
        {"another manager while it runs",
         {{patches, one}},
         {{patches, two}},
         nullptr,
         "Forbidden spec.runtimePatches"},
        {"time and order are no change",
         {{patches, two}},
         {{patches, "[{manager: a.io/y}, {manager: a.io/x, time: u}]"}},
         nullptr,
         ""},
        {"a patch while suspended", {suspended}, {{patches, one}}, nullptr, ""},
        {"a patch and suspend at once", {}, {suspended, {patches, one}}, nullptr, ""},
        {"a patch and resume at once", {suspended}, {{"spec.suspend", "false"}, {patches, one}}, nullptr, ""},
        {"Pods still active",
         {suspended},
         {{patches, one}},
         "[{name: node, active: 1}]",
         "Forbidden spec.runtimePatches"},
        {"Pods gone", {suspended}, {{patches, one}}, "[{name: node, active: 0, suspended: 1}]", ""},
        {"deadline changed",
         {{"spec.activeDeadlineSeconds", "60"}},
         {{"spec.activeDeadlineSeconds", "61"}},
         nullptr,
         "Invalid spec.activeDeadlineSeconds"},
        {"deadline added",
         {},
         {{"spec.activeDeadlineSeconds", "61"}},
         nullptr,
         "Invalid spec.activeDeadlineSeconds"},
        {"deadline removed",
         {{"spec.activeDeadlineSeconds", "60"}},
         {{"spec.activeDeadlineSeconds", "null"}},
         nullptr,
         "Invalid spec.activeDeadlineSeconds"},
        {"even while it is being deleted",
         {},
         {{"metadata.deletionTimestamp", "\"2026-01-15T10:00:00Z\""},
          {"spec.activeDeadlineSeconds", "61"},
          {patches, one}},
         nullptr,
         "Invalid spec.activeDeadlineSeconds"},
        {"the length of a name is for new ones",
         {suspended},
         {{"metadata.name", "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee"}, {patches, one}},
         nullptr,
         ""},
        {"more nodes than there are names for",
         {suspended, {"metadata.name", "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeee"}},
         {{"spec.trainer.numNodes", "1000"}},
         nullptr,
         "Invalid spec.trainer.numNodes"},
        {"as many nodes as there are names for",
         {suspended, {"metadata.name", "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeee"}},
         {{"spec.trainer.numNodes", "2"}},
         nullptr,
         ""},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const Json before = changed(train_job(), c.before);
            const Json after = changed(before, c.after);
            const Json runtime = plain_runtime();
            api::JobSet job_set;
            job_set.meta.controller_uid = "job-uid";
            if (c.job_set) job_set.replicated_jobs = api::parse_jobs_status(tree(c.job_set));
            const auto review = [&](const api::JobSet& found) {
                return text(runtime::validate_train_job({.object = after,
                                                         .old_object = before,
                                                         .runtime = &runtime,
                                                         .job_set = c.job_set ? &found : nullptr,
                                                         .gates = runtime::Gates::all()})
                                .errors);
            };
            CHECK(review(job_set) == c.want);
            job_set.meta.controller_uid = "another-owner";
            if (c.job_set) CHECK(review(job_set).empty());
        }
    }
}

TEST_CASE("an update without relevant changes needs no lookup and is allowed without its runtime",
          "[admission]") {
    struct Case {
        const char* name;
        std::vector<Change> after;
        bool harmless;
    };
    const Case cases[] = {
        {"nothing", {}, true},
        {"a label", {{"metadata.labels", "{a: b}"}}, true},
        {"a finalizer", {{"metadata.finalizers", "[a]"}}, true},
        {"suspend", {{"spec.suspend", "true"}}, true},
        {"an empty list", {{"spec.runtimePatches", "[]"}}, true},
        {"a quantity in other words", {{"spec.trainer.resourcesPerNode.limits.cpu", "1000m"}}, true},
        {"anything while it is being deleted",
         {{"metadata.deletionTimestamp", "\"2026-01-15T10:00:00Z\""}, {"spec.trainer.image", "i"}},
         true},
        {"an image", {{"spec.trainer.image", "i"}}, false},
        {"a patch", {{"spec.runtimePatches", "[{manager: a.io/x}]"}}, false},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const Json before = changed(train_job(), {{"spec.trainer.resourcesPerNode.limits.cpu", "1"}});
            const Json after = changed(before, c.after);
            CHECK(runtime::lookups_for(after, before).runtime == !c.harmless);
            const auto findings = runtime::validate_train_job({.object = after, .old_object = before});
            CHECK(findings.errors.empty() == c.harmless);
            CHECK(findings.warnings.empty());
        }
    }
}

TEST_CASE("the objects that a review needs", "[admission]") {
    using runtime::RequiredInputs;
    const Json job = train_job();
    CHECK(runtime::lookups_for(job, Json()) == RequiredInputs{.runtime = true, .job_set = false});
    CHECK(runtime::lookups_for(changed(job, {{"spec.runtimeRef.kind", "Other"}}), Json()) ==
          RequiredInputs{});
    CHECK(runtime::lookups_for(changed(job, {{"spec.trainer.image", "i"}}), job) ==
          RequiredInputs{.runtime = true, .job_set = true});
    CHECK(runtime::lookups_for(changed(job, {{"spec.runtimePatches", "[{manager: a.io/x}]"}}), job) ==
          RequiredInputs{.runtime = true, .job_set = true});
}
