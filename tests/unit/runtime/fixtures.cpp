#include "fixtures.hpp"

#include "api/train_job.hpp"

using api::Json;

Json tree(std::string_view yaml) {
    auto parsed = api::parse_yaml(yaml);
    if (!parsed) FAIL(parsed.error() << " in " << yaml);
    return *parsed;
}

namespace {

// Removes the first step of a path: a member's name, or an index in brackets.
std::string_view next_step(std::string_view& path) {
    if (path.starts_with('.')) path.remove_prefix(1);
    std::size_t end = 0;
    if (path.starts_with('[')) {
        end = path.find(']') + 1;
    } else if (path.starts_with('"')) {
        end = path.find('"', 1) + 1;
    } else {
        end = std::min(path.find_first_of(".["), path.size());
    }
    const std::string_view step = path.substr(0, end);
    path.remove_prefix(end);
    return step;
}

Json& step_into(Json& tree, std::string_view step) {
    if (step.starts_with('"')) return tree[step.substr(1, step.size() - 2)];
    if (!step.starts_with('[')) return tree[step];
    const auto index = static_cast<std::size_t>(std::stoul(std::string(step.substr(1))));
    while (std::as_const(tree).items().size() <= index) tree.push_back(Json());
    return tree.items()[index];
}

}  // namespace

Json& at(Json& tree, std::string_view path) {
    Json* place = &tree;
    while (!path.empty()) place = &step_into(*place, next_step(path));
    return *place;
}

Json changed(Json object, const std::vector<Change>& changes) {
    for (const Change& change : changes) {
        std::string_view path = change.path;
        if (std::string_view(change.value) != "-") {
            at(object, path) = tree(change.value);
            continue;
        }
        const auto dot = path.rfind('.');
        at(object, path.substr(0, dot)).erase(path.substr(dot + 1));
    }
    return object;
}

Json train_job() {
    return tree(R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: job, namespace: ns, uid: job-uid}
spec:
  runtimeRef: {apiGroup: trainer.kubeflow.org, kind: ClusterTrainingRuntime, name: runtime}
  suspend: false
)");
}

Json plain_runtime() {
    return tree(R"(
apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: runtime}
spec:
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
          spec: {template: {spec: {containers: [{name: node, image: "train:1"}]}}}
)");
}

Json runtime_with(const char* framework) {
    Json runtime = plain_runtime();
    runtime["spec"]["mlPolicy"][framework] = Json::object();
    return runtime;
}

api::Result<Json> build_job_set(const Json& job, const Json& runtime) {
    const api::TrainJob train = api::parse_train_job(job);
    const auto built = runtime::build({.job = train, .runtime = runtime});
    if (!built) return built.error();
    return built->objects.back().object;
}

const Json& node_container(const Json& job_set) {
    for (const Json& job : job_set["spec"]["replicatedJobs"].items())
        if (job["name"].as_string() == "node")
            for (const Json& container : job["template"]["spec"]["template"]["spec"]["containers"].items())
                if (container["name"].as_string() == "node") return container;
    FAIL("no container node in " << job_set);
    throw 0;
}

Json trainer_node(const char* framework, const char* trainer, const std::vector<Change>& runtime) {
    const Json job = changed(train_job(), {{"spec.trainer", trainer}});
    const auto built = build_job_set(job, changed(runtime_with(framework), runtime));
    if (!built) FAIL(built.error());
    return node_container(*built);
}

Json node_without_trainer(const char* framework) {
    return trainer_node(framework, "{numNodes: 3, env: [{name: U, value: u}]}",
                        {{"spec.template.spec.replicatedJobs[0].template.metadata", "{}"}});
}

std::string env_text(const Json& container) {
    std::string text;
    for (const Json& entry : container["env"].items()) {
        if (!text.empty()) text += ' ';
        text += std::string(entry["name"].as_string()) + "=";
        text += entry["valueFrom"].is_null() ? std::string(entry["value"].as_string()) : "<field>";
    }
    return text;
}
