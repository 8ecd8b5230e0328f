#include "fixtures.hpp"
#include "merge/json_patch.hpp"
#include "runtime/validation.hpp"

using api::Json;

namespace {

const api::Time now = api::parse_time("2026-01-15T10:00:00Z").value();

Json job_with(const char* patches) { return changed(train_job(), {{"spec.runtimePatches", patches}}); }

// Returns the operations as "op path value", one a line.
std::string text(const std::vector<Json>& operations) {
    std::string lines;
    for (const Json& operation : operations)
        lines += std::string(operation["op"].as_string()) + " " + std::string(operation["path"].as_string()) +
                 " " + std::string(operation["value"].as_string()) + "\n";
    return lines;
}

Json applied(Json object, const std::vector<Json>& operations) {
    if (const auto done = merge::apply_operations(operations, object); !done) FAIL(done.error());
    return object;
}

}  // namespace

TEST_CASE("patches get a time stamp when they change", "[admission]") {
    struct Case {
        const char* name;
        const char* before;  // nullptr: CREATE
        const char* after;
        std::string want;
    };
    const char* stamped = "add /spec/runtimePatches/0/time 2026-01-15T10:00:00Z\n";
    const std::string stored_spec_and_time =
        "add /spec/runtimePatches/0/trainingRuntimeSpec \nadd /spec/runtimePatches/0/time "
        "2020-01-01T00:00:00Z\n";
    const char* old_time = "add /spec/runtimePatches/0/time 2020-01-01T00:00:00Z\n";
    const Case cases[] = {
        {"new", nullptr, "[{manager: a}]", stamped},
        {"new, with a time", nullptr, "[{manager: a, time: t}]", ""},
        {"only those without", nullptr, "[{manager: a, time: t}, {manager: b}]",
         "add /spec/runtimePatches/1/time 2026-01-15T10:00:00Z\n"},
        {"none", nullptr, "null", ""},
        {"the same again", "[{manager: a, time: \"2020-01-01T00:00:00Z\"}]",
         "[{manager: a, time: \"2020-01-01T00:00:00Z\"}]", ""},
        {"the same without a time", "[{manager: a, time: \"2020-01-01T00:00:00Z\"}]", "[{manager: a}]",
         old_time},
        {"the same with another time", "[{manager: a, time: \"2020-01-01T00:00:00Z\"}]",
         "[{manager: a, time: t}]", old_time},
        {"the same, which never had a time", "[{manager: a}]", "[{manager: a, time: t}]",
         "remove /spec/runtimePatches/0/time \n"},
        {"changed", "[{manager: a, time: \"2020-01-01T00:00:00Z\"}]",
         "[{manager: a, time: \"2020-01-01T00:00:00Z\", trainingRuntimeSpec: {template: {metadata: {labels: "
         "{x: z}}}}}]",
         stamped},
        {"changed, with the user's time", "[{manager: a}]",
         "[{manager: a, time: t, trainingRuntimeSpec: {template: {metadata: {labels: {x: z}}}}}]", stamped},
        {"another manager", "[{manager: b, time: t}]", "[{manager: a}]", stamped},
        {"another manager with a time", "[{manager: b, time: t}]", "[{manager: a, time: u}]", ""},
        {"an empty list more is no change", "[{manager: a, time: \"2020-01-01T00:00:00Z\"}]",
         "[{manager: a, trainingRuntimeSpec: {template: {spec: {replicatedJobs: []}}}}]", old_time},
        {"a quantity in other words is no change",
         "[{manager: a, time: \"2020-01-01T00:00:00Z\", trainingRuntimeSpec: {emptyDir: {sizeLimit: 2}}}]",
         "[{manager: a, trainingRuntimeSpec: {emptyDir: {sizeLimit: \"2\"}}}]", stored_spec_and_time},
        {"no list", nullptr, "foo", ""},
        {"no objects", nullptr, "[foo]", ""},
        {"no manager", nullptr, "[{}]", ""},
        {"one manager twice", nullptr, "[{manager: a}, {manager: a}]", ""},
        {"an odd old object", "foo", "[{manager: a}]", ""},
    };
    for (const Case& c : cases) {
        DYNAMIC_SECTION(c.name) {
            const Json before = c.before ? job_with(c.before) : Json();
            const Json after = job_with(c.after);
            const auto operations = runtime::default_train_job(after, before, now).operations;
            CHECK(text(operations) == c.want);
            CHECK(runtime::default_train_job(applied(after, operations), before, now).operations.empty());
        }
    }
    CHECK(runtime::default_train_job(Json("x"), Json(), now).operations.empty());
    CHECK(runtime::default_train_job(Json(), Json(), now).operations.empty());
}

TEST_CASE("more patches than the schema admits are left unchanged, and the schema refuses them",
          "[admission]") {
    std::string patches = "[";
    for (int i = 0; i < 17; ++i) patches += "{manager: a.io/" + std::to_string(i) + "},";
    const Json job = job_with((patches + "]").c_str());
    CHECK(runtime::default_train_job(job, {}, now).operations.empty());
}

namespace {

// A job whose stored form has the fields that typed clients drop, in each of its parts.
const char* const stored_spec = R"(
runtimeRef: {apiGroup: trainer.kubeflow.org, kind: ClusterTrainingRuntime, name: runtime}
initializer: {dataset: {storageUri: "", env: [{name: A, value: ""}], secretRef: {name: s}}}
trainer:
  image: ""
  numNodes: 0
  command: []
  args: [""]
  env: [{name: A, value: ""}, {name: B, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]
  resourcesPerNode: {limits: {cpu: 1000m}, requests: {}, claims: []}
runtimePatches:
- manager: acme.io/team
  time: "2020-01-01T00:00:00Z"
  trainingRuntimeSpec: {template: {metadata: {labels: {}}, spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {
    terminationGracePeriodSeconds: 0,
    resourceClaims: [{name: gpu, resourceClaimTemplateName: gpus}],
    tolerations: [{key: "", operator: Exists, tolerationSeconds: 0}],
    volumes: [{name: v, configMap: {name: c, items: []}}],
    containers: [{name: node, resources: {claims: [{name: gpu}]}, env: [],
                  volumeMounts: [{name: v, mountPath: /v, readOnly: false}]}]}}}}}]}}}
- manager: kueue.x-k8s.io/manager
  trainingRuntimeSpec: {template: {spec: {}}}
suspend: true
)";

Json stored_job() { return changed(train_job(), {{"spec", stored_spec}}); }

const std::string patch_0 = "spec.runtimePatches[0].trainingRuntimeSpec.template";
const std::string pod_0 = patch_0 + ".spec.replicatedJobs[0].template.spec.template.spec";

// Written by a client whose types have all our fields, or those of Kubeflow Trainer.
Json typed(const std::vector<std::string>& unknown_fields = {}) {
    Json job = changed(stored_job(), {{"spec.initializer.dataset.env", "[{name: A}]"},
                                      {"spec.trainer.command", "-"},
                                      {"spec.trainer.env[0].value", "-"},
                                      {"spec.trainer.env[1].valueFrom.resourceFieldRef.divisor", "\"0\""},
                                      {"spec.trainer.resourcesPerNode", "{limits: {cpu: \"1\"}}"},
                                      {(patch_0 + ".metadata").c_str(), "{}"},
                                      {(pod_0 + ".tolerations[0].key").c_str(), "-"},
                                      {(pod_0 + ".volumes[0].configMap.items").c_str(), "-"},
                                      {(pod_0 + ".containers[0].env").c_str(), "-"},
                                      {(pod_0 + ".containers[0].volumeMounts[0].readOnly").c_str(), "-"}});
    for (const std::string& field : unknown_fields) job = changed(job, {{(pod_0 + field).c_str(), "-"}});
    return job;
}

const std::vector<std::string> fields_of_ours = {".resourceClaims", ".containers[0].resources",
                                                 ".terminationGracePeriodSeconds"};
constexpr runtime::Writer lossy = {.is_lossy = true};

Json after_mutation(const Json& written, const runtime::Writer& by = {}) {
    const Json before = stored_job();
    const Json stored = applied(written, runtime::default_train_job(written, before, now, by).operations);
    CHECK(runtime::default_train_job(stored, before, now, by).operations.empty());
    return stored;
}

}  // namespace

TEST_CASE("values that a typed client drops stay as stored", "[admission]") {
    CHECK(after_mutation(typed()) == stored_job());
    CHECK(after_mutation(changed(typed(), {{"spec.suspend", "false"}})) ==
          changed(stored_job(), {{"spec.suspend", "false"}}));
}

TEST_CASE("each restored field comes with its name and the cause of its loss", "[admission]") {
    const auto restored = [](const Json& written) {
        return runtime::default_train_job(written, stored_job(), now, lossy).restored;
    };
    using Fields = std::vector<api::RestoredField>;
    CHECK(restored(stored_job()) == Fields());
    CHECK(restored(changed(stored_job(), {{"spec.trainer.args", "[]"}})) == Fields());
    CHECK(restored(changed(stored_job(), {{"spec.trainer.command", "-"}})) ==
          Fields{{"trainer", "typed_client"}});
    CHECK(restored(changed(stored_job(), {{(pod_0 + fields_of_ours[0]).c_str(), "-"}})) ==
          Fields{{"runtimePatches", "typed_client"}});
    CHECK(restored(typed(fields_of_ours)) == Fields{{"trainer", "typed_client"},
                                                    {"initializer", "typed_client"},
                                                    {"runtimePatches", "typed_client"}});
    // A metric has no names that clients choose.
    const Json odd = changed(stored_job(), {{"spec.madeUp", "[]"}});
    CHECK(runtime::default_train_job(stored_job(), odd, now, lossy).restored ==
          Fields{{"other", "typed_client"}});
}

TEST_CASE("fields that a lossy client lacks are restored only for that client", "[admission]") {
    CHECK(after_mutation(typed(fields_of_ours), lossy) == stored_job());
    for (const std::string& field : fields_of_ours) {
        INFO(field);
        CHECK(after_mutation(typed({field}), lossy) == stored_job());
        const Json removed = changed(stored_job(), {{(pod_0 + field).c_str(), "-"}});
        CHECK(after_mutation(removed) ==
              changed(removed, {{"spec.runtimePatches[0].time", "\"2026-01-15T10:00:00Z\""}}));
    }
}

TEST_CASE("a field that a correction removes is not restored", "[admission]") {
    const Json written = changed(typed(), {{"spec.runtimePatches[0].time", "\"2026-01-15T10:00:00Z\""}});
    CHECK(runtime::default_train_job(written, stored_job(), now, {.corrects = true}).restored.empty());
}

TEST_CASE("a part with another change stays as it was written", "[admission]") {
    struct Case {
        const char* name;
        std::string path;
        const char* value;
    };
    const Case cases[] = {
        {"a variable", "spec.trainer.env[0].value", "x"},
        {"a variable less", "spec.trainer.env", "[{name: A}]"},
        {"an argument that was empty", "spec.trainer.args", "[]"},
        {"the number of nodes, which was zero", "spec.trainer.numNodes", "-"},
        {"an image that was empty", "spec.trainer.image", "-"},
        {"an amount", "spec.trainer.resourcesPerNode.limits.cpu", "\"2\""},
        {"an amount of something else", "spec.trainer.resourcesPerNode.limits.memory", "\"0\""},
        {"the initializer", "spec.initializer.dataset.secretRef.name", "t"},
        {"an initializer's empty URI", "spec.initializer.dataset.storageUri", "-"},
        {"a patch", pod_0 + ".volumes[0].configMap.name", "d"},
        {"a zero that says something", pod_0 + ".tolerations[0].tolerationSeconds", "-"},
        {"an empty object that says something", pod_0 + ".volumes[0].emptyDir", "{}"},
        {"a claim of other devices", pod_0 + ".resourceClaims[0].resourceClaimTemplateName", "others"},
    };
    for (const Case& c : cases)
        for (const runtime::Writer& writer : {runtime::Writer(), lossy}) {
            INFO(c.name);
            const Json written = changed(stored_job(), {{c.path.c_str(), c.value}});
            Json kept = after_mutation(written, writer);
            if (c.path.starts_with(pod_0)) at(kept, "spec.runtimePatches[0].time") = "2020-01-01T00:00:00Z";
            CHECK(kept == written);
        }
}

TEST_CASE("Kueue's changes of its own entry stay, and the entries of others are restored", "[admission]") {
    const char* const admitted = "{template: {spec: {replicatedJobs: [{name: node}]}}}";
    const std::vector<Change> change = {{"spec.runtimePatches[1].trainingRuntimeSpec", admitted},
                                        {"spec.runtimePatches[1].time", "\"2026-01-15T10:00:00Z\""}};
    CHECK(after_mutation(changed(typed(fields_of_ours), change), lossy) == changed(stored_job(), change));

    const Change with_claims = {
        "spec.runtimePatches[1].trainingRuntimeSpec",
        "{template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: "
        "{spec: {resourceClaims: [{name: g}]}}}}}]}}}"};
    const Json before = changed(stored_job(), {with_claims});
    const Json written =
        changed(before, {{"spec.runtimePatches[1].trainingRuntimeSpec.template.spec.replicatedJobs[0]."
                          "template.spec.template.spec.resourceClaims",
                          "-"}});
    const Json stored = applied(written, runtime::default_train_job(written, before, now, lossy).operations);
    CHECK(at(const_cast<Json&>(stored), "spec.runtimePatches[1].trainingRuntimeSpec") ==
          written["spec"]["runtimePatches"][1]["trainingRuntimeSpec"]);
}
