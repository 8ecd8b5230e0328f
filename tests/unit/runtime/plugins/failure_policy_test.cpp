// Builds of attempts: what the JobSet gets while a failure policy is in force.
#include "fixtures.hpp"
#include "runtime/validation.hpp"

using api::Json;

namespace {

constexpr const char* policy_path = "spec.runPolicy.failurePolicy";
constexpr const char* attempt_annotation = "trainer.kubeflow.org/attempt";
constexpr const char* before_annotation = "trainer.kubeflow.org/restarts-before";
constexpr const char* nodes_annotation = "trainer.kubeflow.org/excluded-nodes";
constexpr const char* claims_path = "spec.template.spec.volumeClaimPolicies";
constexpr const char* node_path = "spec.template.spec.replicatedJobs[0].template.spec.template.spec";

struct Built {
    std::vector<Json> others = {};
    Json job_set = {};
};

Built build(const Json& job, const Json& runtime, api::Restarts before = {},
            std::vector<std::string> nodes = {}) {
    const api::TrainJob parsed = api::parse_train_job(job);
    const auto objects = runtime::build(
        {.job = parsed, .runtime = runtime, .restarts_before = before, .excluded_nodes = std::move(nodes)});
    if (!objects) FAIL(objects.error());
    Built built;
    for (const runtime::BuiltObject& each : objects->objects) built.others.push_back(each.object);
    built.job_set = built.others.back();
    built.others.pop_back();
    return built;
}

Json built(const Json& job, const Json& runtime, api::Restarts before = {},
           std::vector<std::string> nodes = {}) {
    return build(job, runtime, before, std::move(nodes)).job_set;
}

Json with_policy(const char* policy) { return changed(plain_runtime(), {{policy_path, policy}}); }

const Json& job_of(const Json& job_set, std::size_t index = 0) {
    return job_set["spec"]["replicatedJobs"][index]["template"]["spec"];
}
const Json& pod_of(const Json& job_set, std::size_t index = 0) {
    return job_of(job_set, index)["template"]["spec"];
}
const Json& annotations_of(const Json& job_set) { return job_set["metadata"]["annotations"]; }

const char* const of_disruptions =
    "{rules: [{action: FailJob, onPodConditions: [{type: DisruptionTarget, status: 'True'}]}]}";
const char* const of_attempts =
    "{maxRestarts: 0, rules: [{name: Disruption, action: FailJobSet, onJobFailureReasons: "
    "[PodFailurePolicy]}]}";

// Beside other requirements of the Pod template's affinity.
Json terms_of(const Json& job_set, std::size_t index = 0) {
    return pod_of(job_set, index)["affinity"]["nodeAffinity"]
                                 ["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
}

}  // namespace

TEST_CASE("without a failure policy the template decides", "[failure]") {
    const Json runtime =
        changed(plain_runtime(), {{"spec.template.spec.failurePolicy", "{maxRestarts: 3}"},
                                  {"spec.template.spec.replicatedJobs[0].template.spec.backoffLimit", "7"},
                                  {claims_path, "[{templates: [{metadata: {name: data}}]}]"}});
    const Built made = build(train_job(), runtime, {}, {"gpu-1"});
    const Json& job_set = made.job_set;
    CHECK(job_set["spec"]["failurePolicy"] == tree("{maxRestarts: 3}"));
    CHECK(job_of(job_set)["backoffLimit"] == Json(7));
    CHECK(job_of(job_set)["podFailurePolicy"].is_null());
    CHECK(pod_of(job_set)["restartPolicy"].is_null());
    CHECK(pod_of(job_set)["affinity"].is_null());
    CHECK(job_set["spec"]["volumeClaimPolicies"] == tree("[{templates: [{metadata: {name: data}}]}]"));
    CHECK(made.others.empty());
    CHECK_FALSE(annotations_of(job_set).contains(attempt_annotation));
    CHECK_FALSE(annotations_of(job_set).contains(nodes_annotation));
}

TEST_CASE("a policy of either makes the JobSet an attempt, which JobSet does not restart", "[failure]") {
    struct Case {
        const char* runtime;
        const char* job;
    };
    const Case cases[] = {{"{}", "-"},
                          {"{maxRestarts: 2}", "-"},
                          {"{maxRestarts: 2}", "{maxRestarts: 5}"},
                          {"-", "{maxRestarts: 4}"},
                          {"-", "{}"},
                          {"{rules: [{action: FailTrainJob, onExitCodes: {containerName: node, operator: In, "
                           "values: [3]}}, {action: RestartTrainJob, excludeNode: true, onPodReasons: "
                           "[OOMKilled]}], backoff: {initialSeconds: 0}, excludedNodes: {max: 1}}",
                           "-"}};
    for (const Case& c : cases) DYNAMIC_SECTION(c.runtime << " " << c.job) {
            const Json job_set =
                built(changed(train_job(), {{"spec.failurePolicy", c.job}}), with_policy(c.runtime));
            CHECK(job_set["spec"]["failurePolicy"] == tree(of_attempts));
            CHECK(job_of(job_set)["podFailurePolicy"] == tree(of_disruptions));
            CHECK(job_of(job_set)["backoffLimit"] == Json(0));
            CHECK(pod_of(job_set)["restartPolicy"] == Json("Never"));
            CHECK(annotations_of(job_set) == Json::object({{attempt_annotation, "0"}}));
        }
}

TEST_CASE("a Pod that fails ends its Job, whatever the template says", "[failure]") {
    const Json runtime = changed(
        with_policy("{}"),
        {{"spec.template.spec.replicatedJobs[0].template.spec.backoffLimit", "7"},
         {"spec.template.spec.replicatedJobs[0].template.spec.backoffLimitPerIndex", "2"},
         {"spec.template.spec.replicatedJobs[0].template.spec.maxFailedIndexes", "2"},
         {"spec.template.spec.replicatedJobs[0].template.spec.podReplacementPolicy", "TerminatingOrFailed"},
         {"spec.template.spec.replicatedJobs[0].template.spec.template.spec.restartPolicy", "OnFailure"},
         {"spec.template.spec.replicatedJobs[1]",
          "{name: side, template: {spec: {template: {spec: {containers: [{name: a, image: i}]}}}}}"},
         {"spec.template.spec.failurePolicy", "{maxRestarts: 9, restartStrategy: BlockingRecreate}"}});
    const Json job_set = built(train_job(), runtime);
    for (std::size_t index : {0, 1}) {
        const Json& job = job_of(job_set, index);
        CHECK(job["backoffLimit"] == Json(0));
        CHECK(job["template"]["spec"]["restartPolicy"] == Json("Never"));
        CHECK(job["podFailurePolicy"] == tree(of_disruptions));
        for (const char* member : {"backoffLimitPerIndex", "maxFailedIndexes", "podReplacementPolicy"})
            CHECK_FALSE(job.contains(member));
    }
    CHECK(job_set["spec"]["failurePolicy"] == tree(of_attempts));
}

TEST_CASE("a JobSet says which attempt it is, and what was before it", "[failure]") {
    const Json runtime = with_policy("{maxRestarts: 3}");
    CHECK(annotations_of(built(train_job(), runtime, {.all = 5, .counted = 2})) ==
          Json::object({{attempt_annotation, "5"}, {before_annotation, "5,2"}}));
    CHECK(annotations_of(built(train_job(), runtime, {.all = 9, .counted = 7}, {"b", "a.example"})) ==
          Json::object(
              {{attempt_annotation, "9"}, {before_annotation, "9,7"}, {nodes_annotation, "b,a.example"}}));
    CHECK(annotations_of(built(train_job(), plain_runtime(), {.all = 1})) ==
          Json::object({{before_annotation, "1,0"}}));
    CHECK_FALSE(annotations_of(built(train_job(), plain_runtime())).contains(before_annotation));
}

TEST_CASE("annotations of the template say nothing about attempts", "[failure]") {
    const char* const forged =
        "{trainer.kubeflow.org/restarts-before: '0,-7', trainer.kubeflow.org/attempt: '7', "
        "trainer.kubeflow.org/excluded-nodes: gpu-1, a: b}";
    const std::vector<Change> change = {{"spec.template.metadata.annotations", forged}};
    CHECK(annotations_of(built(train_job(), changed(plain_runtime(), change))) == tree("{a: b}"));
    CHECK(annotations_of(built(train_job(), changed(with_policy("{}"), change))) ==
          tree("{a: b, trainer.kubeflow.org/attempt: '0'}"));
}

TEST_CASE("excluded nodes are left out in each term of the nodes' affinity", "[failure]") {
    struct Case {
        const char* name;
        const char* affinity;
        const char* want;
    };
    const char* const both =
        "{key: metadata.name, operator: NotIn, values: [gpu-1]}, {key: metadata.name, operator: NotIn, "
        "values: [gpu-2]}";
    const std::string fields = "matchFields: [" + std::string(both) + "]";
    const std::string one = "[{" + fields + "}]";
    const std::string two = "[{matchExpressions: [{key: zone, operator: In, values: [a]}], " + fields +
                            "}, {matchFields: [{key: metadata.name, operator: In, values: [x]}, " + both +
                            "]}]";
    const Case cases[] = {
        {"no affinity", "-", one.c_str()},
        {"an affinity of Pods", "{podAffinity: {a: 1}}", one.c_str()},
        {"preferred terms", "{nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}",
         one.c_str()},
        {"no term",
         "{nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}",
         one.c_str()},
        {"two terms",
         "{nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: ["
         "{matchExpressions: [{key: zone, operator: In, values: [a]}]},"
         "{matchFields: [{key: metadata.name, operator: In, values: [x]}]}]}}}",
         two.c_str()},
    };
    for (const Case& c : cases) DYNAMIC_SECTION(c.name) {
            const Json runtime =
                changed(with_policy("{}"), {{(std::string(node_path) + ".affinity").c_str(), c.affinity}});
            const Json job_set = built(train_job(), runtime, {}, {"gpu-1", "gpu-2"});
            CHECK(terms_of(job_set) == tree(c.want));
            if (c.affinity[0] == '{') {
                Json rest = pod_of(job_set)["affinity"];
                rest["nodeAffinity"].erase("requiredDuringSchedulingIgnoredDuringExecution");
                if (rest["nodeAffinity"].empty()) rest.erase("nodeAffinity");
                Json before = tree(c.affinity);
                if (Json* of_nodes = before.find("nodeAffinity")) {
                    of_nodes->erase("requiredDuringSchedulingIgnoredDuringExecution");
                    if (of_nodes->empty()) before.erase("nodeAffinity");
                }
                CHECK(rest == before);
            }
            CHECK(pod_of(built(train_job(), runtime))["affinity"] ==
                  (c.affinity[0] == '{' ? tree(c.affinity) : Json()));
        }
}

TEST_CASE("Pods that do not train may run on any node", "[failure]") {
    const Json runtime =
        changed(with_policy("{}"),
                {{"spec.template.spec.replicatedJobs[1]",
                  "{name: dataset-initializer, template: {metadata: {labels: "
                  "{trainer.kubeflow.org/trainjob-ancestor-step: "
                  "dataset-initializer}}, spec: {template: {spec: {containers: [{name: a, image: i}]}}}}}"}});
    for (const char* ml_policy : {"-", "{numNodes: 2}", "{numNodes: 2, torch: {}}"}) {
        INFO(ml_policy);
        const Json job_set =
            built(train_job(), changed(runtime, {{"spec.mlPolicy", ml_policy}}), {}, {"gpu-1"});
        CHECK(terms_of(job_set, 0).items().size() == 1);
        CHECK(pod_of(job_set, 1)["affinity"].is_null());
    }
}

namespace {

Json with_claims(const char* policies) {
    return changed(
        with_policy("{}"),
        {{claims_path, policies},
         {"spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0].volumeMounts",
          "[{name: data, mountPath: /data}, {name: kept, mountPath: /kept}]"},
         {"spec.template.spec.replicatedJobs[1]",
          "{name: side, template: {spec: {template: {spec: {volumes: [{name: v, emptyDir: {}}], "
          "initContainers: "
          "[{name: i, image: i, volumeMounts: [{name: data, mountPath: /d}]}], containers: [{name: a, image: "
          "i}]}}}}}"},
         {"spec.template.spec.replicatedJobs[2]",
          "{name: other, template: {spec: {template: {spec: {containers: [{name: a, image: i}]}}}}}"}});
}

const char* const data_volume = "{name: data, persistentVolumeClaim: {claimName: data-job}}";
const char* const data_template =
    "{metadata: {name: data, labels: {l: '1'}, annotations: {a: '2'}}, spec: {accessModes: [ReadWriteMany], "
    "resources: {requests: {storage: 1Gi}}}}";
const char* const kept_policy =
    "{retentionPolicy: {whenDeleted: Retain}, templates: [{metadata: {name: kept}, spec: {resources: "
    "{requests: {storage: 2Gi}}}}]}";

}  // namespace

TEST_CASE("claims that would go with an attempt belong to the TrainJob", "[failure]") {
    for (const char* retention : {"", "retentionPolicy: {whenDeleted: Delete}, ", "retentionPolicy: {}, "}) {
        const std::string of_data = "{" + std::string(retention) + "templates: [" + data_template + "]}";
        const std::string policies = "[" + of_data + ", " + kept_policy + "]";
        INFO(policies);
        const Built made = build(train_job(), with_claims(policies.c_str()));
        REQUIRE(made.others.size() == 1);
        CHECK(made.others[0] ==
              tree("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data-job, namespace: ns, "
                   "labels: {l: '1', jobset.sigs.k8s.io/jobset-name: job}, annotations: {a: '2'}, "
                   "ownerReferences: [{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, name: job, "
                   "uid: job-uid, controller: true, blockOwnerDeletion: true}]}, spec: {accessModes: "
                   "[ReadWriteMany], resources: {requests: {storage: 1Gi}}}}"));
        CHECK(made.job_set["spec"]["volumeClaimPolicies"] == tree("[" + std::string(kept_policy) + "]"));
        // Where a container of the Pod mounts it, or an init container; what is there stays.
        CHECK(pod_of(made.job_set, 0)["volumes"] == tree("[" + std::string(data_volume) + "]"));
        CHECK(pod_of(made.job_set, 1)["volumes"] ==
              tree("[{name: v, emptyDir: {}}, " + std::string(data_volume) + "]"));
        CHECK(pod_of(made.job_set, 2)["volumes"].is_null());
    }
}

TEST_CASE("claims that are retained stay JobSet's", "[failure]") {
    const std::string policies = "[" + std::string(kept_policy) + "]";
    const Built made = build(train_job(), with_claims(policies.c_str()));
    CHECK(made.others.empty());
    CHECK(made.job_set["spec"]["volumeClaimPolicies"] == tree(policies));
    CHECK(pod_of(made.job_set)["volumes"].is_null());
}

TEST_CASE("without claims that are left, the JobSet has no policy for them", "[failure]") {
    const std::string policies = "[{templates: [" + std::string(data_template) + "]}]";
    CHECK_FALSE(built(train_job(), with_claims(policies.c_str()))["spec"].contains("volumeClaimPolicies"));
}

TEST_CASE("templates of claims that JobSet would refuse are errors of the runtime, and not built",
          "[failure]") {
    const auto refusal = [](const char* policies) {
        const Json runtime = with_claims(policies);
        const auto unbuilt = build_job_set(train_job(), runtime);
        REQUIRE_FALSE(unbuilt);
        const auto errors =
            runtime::validate_runtime(runtime, Json(), runtime::default_pipeline(), runtime::Gates::all())
                .errors;
        REQUIRE_FALSE(errors.empty());
        const Json job = train_job();
        const auto of_job = runtime::validate_train_job({.object = job, .runtime = &runtime}).errors;
        REQUIRE_FALSE(of_job.empty());
        CHECK(unbuilt.error().field == errors.front().field);
        CHECK(unbuilt.error().message == errors.front().detail);
        CHECK(of_job.front().field == "spec.runtimeRef");
        CHECK(of_job.front().detail == errors.front().field + ": " + body(errors.front()));
        return errors.front().field.substr(std::string_view(claims_path).size()) + " " +
               errors.front().detail;
    };
    CHECK(refusal("[{templates: [{metadata: {name: Data}}]}]") ==
          "[0].templates[0].metadata.name must be named like a DNS label");
    CHECK(refusal("[{templates: [{metadata: {name: data}}]},"
                  " {templates: [{metadata: {name: kept}}, {metadata: {name: data}}]}]") ==
          "[1].templates[1].metadata.name must be there once");
    CHECK(refusal("[{templates: [{metadata: {name: v}}]}]") ==
          "[0].templates[0].metadata.name must not have the name of a volume of the Pods");
    CHECK(refusal("[{templates: [{metadata: {name: unused}}]}]") ==
          "[0].templates[0].metadata.name must be mounted by a container of the Pods");
}

TEST_CASE("the claims are looked at before they are made, and only under a policy", "[failure]") {
    const auto names = [](const Json& runtime) {
        const api::TrainJob job = api::parse_train_job(train_job());
        std::string text;
        for (const runtime::Need& need : runtime::needs(job, runtime).objects)
            if (need.resource == api::resources::volume_claims)
                text += to_string(need.key) + (need.apply == runtime::ApplyPolicy::once ? " once " : " ");
        return text;
    };
    const std::string policies =
        "[{templates: [" + std::string(data_template) + ", {metadata: {name: b}}]}, " + kept_policy + "]";
    const Json runtime = with_claims(policies.c_str());
    CHECK(names(runtime) == "ns/data-job once ns/b-job once ");
    CHECK(names(changed(runtime, {{policy_path, "-"}})).empty());
}

TEST_CASE("a stored failure policy of another shape is an error, and not built", "[failure]") {
    for (const char* policy :
         {"[]", "{rules: {}}", "{rules: [a]}", "{rules: [{onExitCodes: []}]}",
          "{rules: [{onExitCodes: {values: 3}}]}", "{rules: [{onPodConditions: {}}]}",
          "{rules: [{onPodReasons: OOMKilled}]}", "{backoff: []}", "{excludedNodes: 3}"}) {
        INFO(policy);
        const auto job_set = build_job_set(train_job(), with_policy(policy));
        REQUIRE_FALSE(job_set);
        CHECK(job_set.error().field.starts_with("spec.runPolicy.failurePolicy"));
    }
}

TEST_CASE("a TrainJob's failure policy is an error where the template of its runtime decides", "[failure]") {
    const Json job = changed(train_job(), {{"spec.failurePolicy", "{maxRestarts: 1}"}});
    const Json of_job_set =
        changed(plain_runtime(), {{"spec.template.spec.failurePolicy", "{maxRestarts: 3}"}});
    const auto refused = build_job_set(job, of_job_set);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().field == "spec.failurePolicy");
    CHECK(refused.error().message.find("spec.template.spec.failurePolicy of the runtime decides") !=
          std::string::npos);
    CHECK(build_job_set(train_job(), of_job_set));
    CHECK(build_job_set(job, plain_runtime()));
}
