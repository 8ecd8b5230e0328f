// Measures the cost of the build of a JobSet from a TrainJob and its runtime.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "allocations.hpp"
#include "api/yaml.hpp"
#include "counted.hpp"
#include "merge/strategic_merge.hpp"
#include "runtime/applied_hash.hpp"
#include "runtime/build.hpp"

namespace {

using api::Json;

constexpr std::size_t runtime_bytes = 20'000;
constexpr std::size_t patch_bytes = 8'000;
constexpr int batches = 31;
constexpr int per_batch = 200;

Json parsed(const char* yaml) { return api::parse_yaml(yaml).value(); }

Json variable(const std::string& prefix, std::size_t number) {
    return Json::object(
        {{"name", prefix + std::to_string(number)}, {"value", "s3://corpus/part-" + std::to_string(number)}});
}

Json mount(std::size_t number) {
    const std::string name = "data-" + std::to_string(number);
    return Json::object({{"name", name}, {"mountPath", "/data/" + name}, {"readOnly", true}});
}

Json volume(std::size_t number) {
    const std::string name = "data-" + std::to_string(number);
    return Json::object(
        {{"name", name},
         {"persistentVolumeClaim", Json::object({{"claimName", "corpus-" + name}, {"readOnly", true}})}});
}

Json& pod_spec_of(Json& job_set_spec, std::size_t job) {
    return job_set_spec["replicatedJobs"].items()[job]["template"]["spec"]["template"]["spec"];
}

// Grows the containers and volumes of every replicated job until the tree has that many bytes.
void grow(Json& job_set_spec, const std::string& prefix, std::size_t bytes) {
    for (std::size_t i = 0; to_json(job_set_spec).size() < bytes; ++i)
        for (std::size_t job = 0; job < job_set_spec["replicatedJobs"].items().size(); ++job) {
            Json& pod_spec = pod_spec_of(job_set_spec, job);
            pod_spec["volumes"].push_back(volume(i));
            for (Json& container : pod_spec["containers"].items()) {
                container["env"].push_back(variable(prefix, i));
                container["volumeMounts"].push_back(mount(i));
            }
        }
}

Json big_runtime() {
    Json object = parsed(R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: torch-distributed}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    metadata: {labels: {team: platform}}
    spec:
      replicatedJobs:
      - name: dataset-initializer
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}}
          spec: {template: {spec: {containers: [{name: dataset-initializer, image: "fetch:1"}]}}}
      - name: node
        dependsOn: [{name: dataset-initializer, status: Complete}]
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec:
            template:
              spec:
                nodeSelector: {pool: a}
                tolerations: [{key: nvidia.com/gpu, operator: Exists}]
                containers:
                - name: node
                  image: "train:1"
                  resources: {limits: {nvidia.com/gpu: 8, cpu: "32"}, requests: {nvidia.com/gpu: 8, cpu: "32"}}
                - {name: sidecar, image: "sidecar:1"}
)");
    grow(object["spec"]["template"]["spec"], "RUNTIME_", runtime_bytes);
    return object;
}

Json train_job() {
    return parsed(R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: job, namespace: ns, uid: 0f8d3c7e-2f55-4b7a-8f0b-5e2f4f2a9f01}
spec:
  runtimeRef: {name: torch-distributed}
  initializer: {dataset: {storageUri: "hf://corpus", secretRef: {name: hub}}}
  trainer:
    image: train:2
    command: [torchrun, train.py]
    numNodes: 8
    resourcesPerNode: {limits: {nvidia.com/gpu: 4}, requests: {cpu: "16"}}
    env: [{name: EPOCHS, value: "3"}, {name: RUNTIME_1, value: "s3://mine"}]
  runtimePatches:
  - manager: acme.io/placement
    trainingRuntimeSpec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {
      nodeSelector: {zone: b}, tolerations: [{key: reserved, operator: Exists}]}}}}}]}}}
  - manager: acme.io/storage
    trainingRuntimeSpec: {template: {metadata: {labels: {cost: "1"}}, spec: {replicatedJobs: [{name: node, template: {
      spec: {template: {spec: {
        volumes: [{name: data-1, emptyDir: {}}, {name: scratch, emptyDir: {medium: Memory}}],
        containers: [{name: sidecar, env: [{name: LEVEL, value: debug}],
          volumeMounts: [{name: scratch, mountPath: /scratch}]}]}}}}}]}}}
)");
}

// Gives every second variable, mount and volume of a patch a key that the runtime does not have. Changes the
// value, path or claim of the others. So half of the patch adds, and half changes.
void differ(Json& job_set_spec) {
    const auto append = [](Json& text) { text = std::string(std::as_const(text).as_string()) + "-of-mine"; };
    for (std::size_t job = 0; job < job_set_spec["replicatedJobs"].items().size(); ++job) {
        Json& pod_spec = pod_spec_of(job_set_spec, job);
        Json::Array& volumes = pod_spec["volumes"].items();
        for (std::size_t i = 0; i < volumes.size(); ++i)
            append(i % 2 == 0 ? volumes[i]["name"] : volumes[i]["persistentVolumeClaim"]["claimName"]);
        for (Json& container : pod_spec["containers"].items()) {
            Json::Array& env = container["env"].items();
            for (std::size_t i = 0; i < env.size(); ++i) append(env[i][i % 2 == 0 ? "name" : "value"]);
            Json::Array& mounts = container["volumeMounts"].items();
            for (std::size_t i = 0; i < mounts.size(); ++i)
                append(mounts[i][i % 2 == 0 ? "mountPath" : "subPath"]);
        }
    }
}

Json no_patch() {
    return parsed(R"(
replicatedJobs:
- {name: node, template: {spec: {template: {spec: {containers: [{name: node}, {name: sidecar}]}}}}}
)");
}

// A patch of 8 KB, as big_patch(), with nothing that the runtime does not have.
Json same_patch() {
    Json spec = no_patch();
    grow(spec, "RUNTIME_", patch_bytes);
    return spec;
}

// A patch of 8 KB: environment, mounts and volumes, half of them new to the runtime.
Json big_patch() {
    Json spec;
    std::size_t bytes = patch_bytes;
    do {  // the appended texts count as well
        spec = no_patch();
        grow(spec, "RUNTIME_", bytes);
        differ(spec);
        bytes -= 50;
    } while (to_json(spec).size() > patch_bytes + 200);
    return spec;
}

double cpu_microseconds() {
    timespec now = {};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

// The median of some batches: other programs disturb few of them.
void print(const char* what, std::vector<double> times, std::size_t allocated) {
    std::sort(times.begin(), times.end());
    std::printf("%-58s %7.1f us (fastest batch %.1f), %zu allocations\n", what, times[times.size() / 2],
                times.front(), allocated);
}

void measure(const char* what, const std::function<void()>& act) {
    act();
    const std::size_t before = allocations();
    act();
    const std::size_t allocated = allocations() - before;
    std::vector<double> times;
    for (int batch = 0; batch < batches; ++batch) {
        const double started = cpu_microseconds();
        for (int i = 0; i < per_batch; ++i) act();
        times.push_back((cpu_microseconds() - started) / per_batch);
    }
    print(what, std::move(times), allocated);
}

// Each merge gets a copy of the base, which is made and destroyed outside of the measured time.
void measure_merges(const char* what, const Json& base, const Json& patch) {
    constexpr std::size_t merges = 10;
    std::vector<double> times;
    std::size_t allocated = 0;
    for (int batch = 0; batch < 10 * batches; ++batch) {
        std::vector<Json> trees(merges, base);
        const std::size_t before = allocations();
        const double started = cpu_microseconds();
        for (Json& tree : trees)
            tree = merge::strategic_merge(std::move(tree), patch, merge::job_set_spec()).value();
        times.push_back((cpu_microseconds() - started) / merges);
        allocated = (allocations() - before) / merges;
    }
    print(what, std::move(times), allocated);
}

}  // namespace

int main(int count, char** arguments) {
    const Json runtime_object = big_runtime(), patch_spec = big_patch(), same_spec = same_patch();
    const api::TrainJob job = api::parse_train_job(train_job());
    const Json& base = runtime_object["spec"]["template"]["spec"];
    const auto build = [&] {
        if (!runtime::build({.job = job, .runtime = runtime_object})) std::abort();
    };
    const Json built = runtime::build({.job = job, .runtime = runtime_object}).value().objects.back().object;
    const auto hash = [&] { (void)runtime::with_applied_hash(built); };
    const auto copy_and_merge = [&base](const Json& patch) {
        return [&base, &patch] { (void)merge::strategic_merge(base, patch, merge::job_set_spec()).value(); };
    };
    if (const auto status =
            count_instructions(count, arguments,
                               {{"build() of a TrainJob with two patches", build},
                                {"hash of the JobSet", hash},
                                {"copy, and merge of a patch", copy_and_merge(patch_spec)},
                                {"copy, and merge of what is there already", copy_and_merge(same_spec)}}))
        return *status;

    std::printf("runtime of %zu bytes, patch of %zu bytes\n", to_json(runtime_object).size(),
                to_json(patch_spec).size());
    measure("copy of the runtime's template, for comparison", [&] { const Json copy = base; });
    measure("build() of a TrainJob with two patches", build);
    measure("hash of the JobSet", hash);
    measure_merges("merge of the patch, half new and half changes", base, patch_spec);
    measure_merges("merge of a patch that says what is there already", base, same_spec);
}
