// Properties for any TrainJob and runtime: order, size and absence of members do not matter.
#include <ctime>
#include <random>

#include "fixtures.hpp"
#include "runtime/snapshot.hpp"
#include "runtime/validation.hpp"

using api::Json;

namespace {

constexpr const char* policies[] = {"none", "torch", "jax", "xgboost", "mpi", "flux"};
constexpr const char* pod = "spec.template.spec.replicatedJobs[0].template.spec.template.spec";
constexpr const char* container =
    "spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0]";

// Returns the same object with the members of every map in another order.
std::string shuffled_text(const Json& value, std::mt19937& random) {
    if (value.is_array()) {
        std::string text;
        for (const Json& item : value.items())
            text += (text.empty() ? "" : ",") + shuffled_text(item, random);
        return "[" + text + "]";
    }
    if (!value.is_object()) return to_json(value);
    std::vector<std::string> members;
    for (const auto& [key, member] : value.members())
        members.push_back(to_json(Json(key)) + ":" + shuffled_text(member, random));
    std::shuffle(members.begin(), members.end(), random);
    std::string text;
    for (const std::string& member : members) text += (text.empty() ? "" : ",") + member;
    return "{" + text + "}";
}

Json full_trainer() {
    return tree(R"({image: i, command: [c], args: [a], numNodes: 2, numProcPerNode: 2,
        env: [{name: A, value: "1"}], resourcesPerNode: {limits: {nvidia.com/gpu: 2}}})");
}

Json patch_of(const char* manager, const std::string& pod_spec) {
    return tree("{manager: " + std::string(manager) +
                ", trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: "
                "{template: {spec: " +
                pod_spec + "}}}}]}}}}");
}

Json built_pod(const Json& job, const Json& runtime) {
    const Json job_set = build_job_set(job, runtime).value();
    return job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"];
}

}  // namespace

TEST_CASE("the order of members in the input does not change what is built", "[runtime]") {
    std::mt19937 random(10);
    for (const char* policy : policies) {
        DYNAMIC_SECTION(policy) {
            Json job = train_job();
            job["spec"]["trainer"] = full_trainer();
            job["spec"]["runtimePatches"] = Json::array({patch_of(
                "a.io/x", "{nodeSelector: {a: b, c: d}, securityContext: {runAsUser: 0, fsGroup: 1}}")});
            const Json runtime = runtime_with(policy);
            const api::TrainJob train = api::parse_train_job(job);
            const auto first = runtime::build({.job = train, .runtime = runtime}).value();
            CHECK(first.objects.back().object["kind"] == "JobSet");
            for (int i = 0; i < 100; ++i) {
                const Json other_job = api::parse_json(shuffled_text(job, random)).value();
                const Json other_runtime = api::parse_json(shuffled_text(runtime, random)).value();
                const api::TrainJob parsed = api::parse_train_job(other_job);
                const auto built = runtime::build({.job = parsed, .runtime = other_runtime}).value();
                REQUIRE(built.objects.size() == first.objects.size());
                for (std::size_t k = 0; k < built.objects.size(); ++k)
                    REQUIRE(to_json(built.objects[k].object) == to_json(first.objects[k].object));
            }
        }
    }
}

TEST_CASE("objects built beside the JobSet have an owner, but no labels and annotations", "[runtime]") {
    for (const char* policy : {"spec.mlPolicy.mpi", "spec.mlPolicy.flux", "spec.podGroupPolicy.coscheduling",
                               "spec.podGroupPolicy.volcano"}) {
        DYNAMIC_SECTION(policy) {
            const char* const tags = "{labels: {a: b}, annotations: {c: d}}";
            const Json runtime =
                changed(plain_runtime(),
                        {{policy, "{}"}, {"metadata.labels", "{e: f}"}, {"spec.template.metadata", tags}});
            Json train =
                changed(train_job(), {{"metadata.labels", "{g: h}"}, {"metadata.annotations", "{i: j}"}});
            train["spec"]["runtimePatches"] =
                tree("[{manager: a.io/x, trainingRuntimeSpec: {template: {metadata: {labels: {k: l}}}}}]");
            const api::TrainJob job = api::parse_train_job(train);
            const auto built = runtime::build(
                {.job = job,
                 .runtime = runtime,
                 .ssh_key_pair = runtime::SshKeyPair{"private", "public"},
                 .curve_key_pair = runtime::CurveKeyPair{std::string(32, 'p'), std::string(32, 's')}});
            REQUIRE(built.has_value());
            REQUIRE(built->objects.size() > 1);
            for (std::size_t i = 0; i + 1 < built->objects.size(); ++i) {
                std::string members;
                for (const auto& [name, value] : built->objects[i].object["metadata"].members())
                    members += name + " ";
                // Secrets have a note of their data.
                const bool is_secret = built->objects[i].object["kind"] == "Secret";
                CHECK(members == (is_secret ? "annotations name namespace ownerReferences "
                                            : "name namespace ownerReferences "));
                const Json& annotations = std::as_const(built->objects[i].object)["metadata"]["annotations"];
                CHECK(annotations.members().size() == (is_secret ? 1 : 0));
            }
        }
    }
}

TEST_CASE("a job built from its snapshot is the job built from the runtime", "[runtime]") {
    for (const char* policy : policies) {
        DYNAMIC_SECTION(policy) {
            const Json runtime =
                changed(runtime_with(policy), {{"metadata.managedFields", "[{manager: kubectl}]"}});
            const api::TrainJob job = api::parse_train_job(train_job());
            const auto stored = runtime::read_snapshot(runtime::make_snapshot(job, runtime), job);
            REQUIRE(stored.has_value());
            CHECK(to_json(build_job_set(train_job(), *stored).value()) ==
                  to_json(build_job_set(train_job(), runtime).value()));
        }
    }
}

TEST_CASE("if two managers patch one key, the last one counts", "[runtime]") {
    Json job = train_job();
    job["spec"]["runtimePatches"] =
        Json::array({patch_of("z.io/first", "{nodeSelector: {a: first, b: first}}"),
                     patch_of("a.io/second", "{nodeSelector: {a: second}}")});
    CHECK(built_pod(job, plain_runtime())["nodeSelector"] == tree("{a: second, b: first}"));
}

TEST_CASE("a variable's source reaches the container unchanged", "[runtime]") {
    for (const char* source :
         {"{fieldRef: {apiVersion: v2, fieldPath: metadata.name}}", "{fieldRef: {fieldPath: metadata.name}}",
          "{resourceFieldRef: {containerName: node, resource: limits.cpu, divisor: \"0\"}}",
          "{configMapKeyRef: {name: m, key: k, optional: false}}",
          "{secretKeyRef: {name: s, key: k, optional: true}}",
          "{fileKeyRef: {volumeName: v, path: p, key: k, optional: false}}",
          "{fromTheFuture: {a: [1, null]}}"})
        for (const char* policy : policies) {
            DYNAMIC_SECTION(policy << " with " << source) {
                const std::string env = "[{name: A, valueFrom: " + std::string(source) + "}]";
                const Json job = changed(train_job(), {{"spec.trainer.env", env.c_str()}});
                const Json job_set = build_job_set(job, runtime_with(policy)).value();
                Json found;
                for (const Json& entry : node_container(job_set)["env"].items())
                    if (entry["name"] == "A") found = entry;
                CHECK(found == tree(env).items()[0]);
            }
        }
}

TEST_CASE("except a field's apiVersion, which the API server sets by default", "[runtime]") {
    // A JobSet that the original has applied lacks it: sending it would change the JobSet when Signalbox
    // takes over.
    for (const char* policy : policies) {
        DYNAMIC_SECTION(policy) {
            const Json job =
                changed(train_job(),
                        {{"spec.trainer.env",
                          "[{name: A, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: metadata.name}}}]"}});
            const Json job_set = build_job_set(job, runtime_with(policy)).value();
            for (const Json& entry : node_container(job_set)["env"].items())
                if (entry["name"] == "A")
                    CHECK(entry == tree("{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}"));
        }
    }
}

TEST_CASE("a trainer may omit any field under any policy", "[runtime]") {
    std::vector<Json> trainers = {Json(), Json::object(), full_trainer()};
    const Json full = full_trainer();
    for (const auto& [name, value] : full.members()) {
        trainers.push_back(full);
        trainers.back().erase(name);
        trainers.push_back(Json::object({{name, value}}));
    }
    const std::pair<const char*, const char*> variables[] = {{"none", ""},
                                                             {"torch", "PET_NNODES="},
                                                             {"jax", "JAX_NUM_PROCESSES="},
                                                             {"xgboost", "DMLC_NUM_WORKER="},
                                                             {"mpi", ""},
                                                             {"flux", ""}};
    for (const auto& [policy, variable] : variables)
        for (const Json& trainer : trainers) {
            DYNAMIC_SECTION(policy << " with " << trainer) {
                Json job = train_job();
                job["spec"]["trainer"] = trainer;
                const Json job_set = build_job_set(job, runtime_with(policy)).value();
                const Json& node = node_container(job_set);
                CHECK(env_text(node).find(variable) != std::string::npos);
                CHECK(node["image"] == (trainer["image"].is_null() ? "train:1" : "i"));
                CHECK(job_set["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] ==
                      trainer["numNodes"].int_or(1));
            }
        }
}

TEST_CASE("sixteen patches of a hundred jobs each are merged in time", "[runtime]") {
    Json runtime = plain_runtime();
    Json& jobs = at(runtime, "spec.template.spec.replicatedJobs");
    const Json first = jobs.items()[0];
    for (int i = 1; i < 100; ++i) {
        Json job = first;
        job["name"] = "job-" + std::to_string(i);
        job["template"].erase("metadata");
        jobs.push_back(std::move(job));
    }
    // As many variables per container as the schema admits, under names that only the last patches share.
    Json job = train_job();
    for (int patch = 0; patch < 16; ++patch) {
        Json env = Json::array();
        for (int i = 0; i < 16; ++i)
            env.push_back(Json::object(
                {{"name", "V" + std::to_string(patch / 2) + "_" + std::to_string(i)}, {"value", "x"}}));
        Json one = patch_of("a.io/x", "{containers: [{name: node}]}");
        Json& patched = at(one, "trainingRuntimeSpec.template.spec.replicatedJobs");
        Json& target = at(
            one,
            "trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0]");
        target["env"] = std::move(env);
        const Json model = patched.items()[0];
        for (int i = 1; i < 100; ++i) {
            patched.push_back(model);
            patched.items().back()["name"] = "job-" + std::to_string(i);
        }
        one["manager"] = "a.io/" + std::to_string(patch);
        job["spec"]["runtimePatches"].push_back(std::move(one));
    }
    const auto started = std::clock();
    const Json job_set = build_job_set(job, runtime).value();
    CHECK((std::clock() - started) / CLOCKS_PER_SEC < 30);  // 60 ms without sanitizers
    REQUIRE(job_set["spec"]["replicatedJobs"].items().size() == 100);
    const Json& last = job_set["spec"]["replicatedJobs"][99];
    CHECK(last["template"]["spec"]["template"]["spec"]["containers"][0]["env"].items().size() == 8 * 16);
    CHECK(to_json(job_set).size() < to_json(job).size() + to_json(runtime).size());
}

TEST_CASE("a runtime of a mebibyte, or one that is nested as deep as can be, is built", "[runtime]") {
    Json large = plain_runtime();
    Json& env = at(large, std::string(container) + ".env");
    for (int i = 0; to_json(large).size() < (1u << 20); ++i)
        for (int k = 0; k < 1000; ++k)
            env.push_back(Json::object({{"name", "V" + std::to_string(1000 * i + k)}, {"value", "x"}}));
    Json job = train_job();
    job["spec"]["runtimePatches"] = Json::array({patch_of("a.io/x", "{nodeSelector: {a: b}}")});
    const auto started = std::clock();
    const Json job_set = build_job_set(job, large).value();
    CHECK((std::clock() - started) / CLOCKS_PER_SEC < 30);
    CHECK(node_container(job_set)["env"] == env);

    Json nested = "bottom";
    for (std::size_t depth = 0; depth < api::max_json_depth - 16; ++depth)
        nested = Json::object({{"a", std::move(nested)}});
    Json deep = plain_runtime();
    at(deep, pod)["fromTheFuture"] = nested;
    CHECK(built_pod(job, deep)["fromTheFuture"] == nested);
    at(job,
       "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec.template."
       "spec")["fromTheFuture"] = nested;
    CHECK(built_pod(job, deep)["fromTheFuture"] == nested);
}

TEST_CASE("a patch with thousands of items is refused or merged in time", "[runtime]") {
    Json items = Json::array();
    for (int i = 0; i < 20'000; ++i)
        items.push_back(Json::object({{"name", "v" + std::to_string(i % 15'000)}}));
    Json runtime = plain_runtime(), job = train_job();
    at(runtime, pod)["imagePullSecrets"] = items;
    job["spec"]["runtimePatches"] = Json::array({patch_of("a.io/x", "{nodeSelector: {a: b}}")});
    at(job,
       "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec.template."
       "spec")["imagePullSecrets"] = items;
    const auto started = std::clock();
    CHECK(build_job_set(job, runtime).has_value());
    CHECK((std::clock() - started) / CLOCKS_PER_SEC < 30);
}

TEST_CASE("twelve thousand claims are refused as too many, or as wrong, in time", "[runtime]") {
    constexpr int many = 12'000;
    Json runtime = runtime_with("xgboost"), job = train_job();
    Json claims = Json::array(), references = Json::array(), more = Json::array();
    std::vector<Json> observed;
    const Json one_gpu = tree(
        "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {namespace: ns}, "
        "spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}");
    for (int i = 0; i < many; ++i) {
        const std::string name = "c" + std::to_string(i);
        claims.push_back(Json::object({{"name", name}, {"resourceClaimName", name}}));
        (i % 2 == 0 ? references : more).push_back(Json::object({{"name", name}}));
        Json claim = one_gpu;
        claim["metadata"]["name"] = name;
        observed.push_back(std::move(claim));
    }
    at(runtime, pod)["resourceClaims"] = std::move(claims);
    at(runtime, container)["resources"]["claims"] = std::move(references);
    at(job, "spec.trainer.resourcesPerNode.claims") = std::move(more);
    const auto started = std::clock();
    const api::TrainJob train = api::parse_train_job(job);
    CHECK(runtime::needs(train, runtime, observed).objects.empty());
    const auto built = runtime::build({.job = train, .runtime = runtime, .observed = observed});
    if (!built) FAIL(built.error());
    CHECK(env_text(node_container(built->objects.back().object)).ends_with("DMLC_NUM_WORKER=1"));
    CHECK(built->warnings.at(0).reason == "GPUCountUnknown");

    // Without the claims, each reference is wrong, also in a TrainJob that had as many before.
    at(runtime, pod).erase("resourceClaims");
    const Json before = changed(job, {{"spec.trainer.image", "older"}});
    const auto findings =
        runtime::validate_train_job({.object = job, .old_object = before, .runtime = &runtime});
    CHECK(findings.errors.size() + findings.errors.more() >= many);
    CHECK((std::clock() - started) / CLOCKS_PER_SEC < 30);
}

TEST_CASE("patches for many containers of a runtime with very many are looked up in time", "[runtime]") {
    Json runtime = plain_runtime(), job = train_job();
    Json& containers = at(runtime, pod)["containers"];
    for (int i = 0; i < 16'000; ++i)
        containers.push_back(Json::object({{"name", "c" + std::to_string(i)}, {"image", "i"}}));
    for (int patch = 0; patch < 16; ++patch) {
        Json one = patch_of("a.io/x", "{containers: []}");
        one["manager"] = "a.io/" + std::to_string(patch);
        Json& patched = at(one,
                           "trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec.template.spec."
                           "containers");
        for (int i = 0; i < 64; ++i)
            patched.push_back(Json::object({{"name", "c" + std::to_string(15'999 - 64 * patch - i)}}));
        job["spec"]["runtimePatches"].push_back(std::move(one));
    }
    const auto started = std::clock();
    CHECK(build_job_set(job, runtime).has_value());
    CHECK((std::clock() - started) / CLOCKS_PER_SEC < 10);
}
