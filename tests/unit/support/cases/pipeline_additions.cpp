// What is wanted of cases where the original writes less than our specification, or crashes.
#include "api/names.hpp"
#include "api/yaml.hpp"
#include "pipeline_overrides.hpp"
#include "runtime/snapshot.hpp"

namespace {

using api::Json;

std::string with(std::string text, const std::string& word, const std::string& value) {
    for (auto at = text.find(word); at != text.npos; at = text.find(word, at + value.size()))
        text.replace(at, word.size(), value);
    return text;
}

// A YAML text in which JOB is the TrainJob's name; with what every object has.
Json object(const PipelineCase& c, const std::string& yaml) {
    Json tree = api::parse_yaml(with(yaml, "JOB", c.job.meta.name)).value();
    tree["metadata"]["namespace"] = c.job.meta.ns;
    tree["metadata"]["ownerReferences"] = Json::array({api::controller_reference(c.job.meta)});
    return tree;
}

bool under_volcano(const PipelineCase& c) {
    return (*c.runtime)["spec"]["podGroupPolicy"]["volcano"].is_object();
}

// Every Pod of these runtimes asks for 4 CPUs and 16Gi, and is limited to 2 GPUs.
Json pod_group(const PipelineCase& c, int pods) {
    Json group = object(c, "{kind: PodGroup, metadata: {name: JOB}}");
    Json& spec = group["spec"];
    spec["minMember"] = pods;
    spec["minResources"] = Json::object({{"cpu", std::to_string(4 * pods)},
                                         {"memory", std::to_string(16 * pods) + "Gi"},
                                         {"nvidia.com/gpu", std::to_string(2 * pods)}});
    group["apiVersion"] = under_volcano(c) ? "scheduling.volcano.sh/v1beta1" : "scheduling.x-k8s.io/v1alpha1";
    return group;
}

void add_missing_pod_group(const PipelineCase& c, std::map<std::string, Json>& wanted) {
    Json group = pod_group(c, 2);
    if (!under_volcano(c)) group["spec"]["scheduleTimeoutSeconds"] = 120;
    wanted[key_of(group)] = std::move(group);
}

const char* const gang_of_torch = R"(
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: JOB}
spec:
  suspend: false
  replicatedJobs:
  - name: node
    replicas: 1
    template:
      metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
      spec:
        parallelism: PODS
        completions: PODS
        template:
          metadata: {MARK}
          spec:
            containers:
            - name: node
              image: registry.example.com/ml/train:1.4
              resources:
                limits: {cpu: "8", memory: 16Gi, nvidia.com/gpu: "2"}
                requests: {cpu: "4", memory: 16Gi}
              env:
              - {name: PET_NNODES, value: "PODS"}
              - {name: PET_NPROC_PER_NODE, value: auto}
              - name: PET_NODE_RANK
                valueFrom: {fieldRef: {fieldPath: "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}
              - {name: PET_MASTER_ADDR, value: JOB-node-0-0.JOB}
              - {name: PET_MASTER_PORT, value: "29500"}
              ports: [{containerPort: 29500}]
)";

// Everything, of a runtime without what the schema would have filled in.
void add_gang(const PipelineCase& c, std::map<std::string, Json>& wanted) {
    const int pods = under_volcano(c) ? 2 : 4;
    const char* const mark = under_volcano(c) ? "annotations: {scheduling.k8s.io/group-name: JOB}"
                                              : "labels: {scheduling.x-k8s.io/pod-group: JOB}";
    Json group = pod_group(c, pods);
    if (under_volcano(c))
        group["spec"]["networkTopology"]["mode"] = "soft";  // without a tier
    else
        group["spec"]["scheduleTimeoutSeconds"] = 60;
    const std::string text = with(with(gang_of_torch, "PODS", std::to_string(pods)), "MARK", mark);
    for (Json& each :
         std::vector<Json>{runtime::make_snapshot(c.job, *c.runtime), std::move(group), object(c, text)})
        wanted[key_of(each)] = std::move(each);
}

const Addition additions[] = {
    {"6: a PodGroup is written whenever the JobSet is, not only for suspended jobs",
     {"coscheduling-existing-pod-group-is-not-touched", "volcano-existing-pod-group-is-not-touched"},
     add_missing_pod_group},
    {"1.2, #31: a stored runtime without the schema's defaults gets the timeout, and goes without a tier",
     {"coscheduling-stored-without-default-timeout-panics",
      "volcano-network-topology-stored-without-tier-panics"},
     add_gang},
};

}  // namespace

const Addition* find_addition(const std::string& case_name) {
    for (const Addition& row : additions)
        if (row.cases.contains(case_name)) return &row;
    return nullptr;
}

std::set<std::string> cases_with_additions() {
    std::set<std::string> names;
    for (const Addition& row : additions) names.insert(row.cases.begin(), row.cases.end());
    return names;
}
