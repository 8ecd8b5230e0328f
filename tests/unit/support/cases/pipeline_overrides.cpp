#include "pipeline_overrides.hpp"

#include <algorithm>
#include <map>

#include "api/names.hpp"
#include "api/quantity.hpp"

namespace {

using api::Json;

Json& pod_spec(Json& job_set, std::string_view job) {
    for (Json& replicated : job_set["spec"]["replicatedJobs"].items())
        if (std::as_const(replicated)["name"].as_string() == job)
            return replicated["template"]["spec"]["template"]["spec"];
    throw std::runtime_error("no such job: " + std::string(job));
}

Json& named_item(Json& list, std::string_view key, std::string_view value) {
    for (Json& item : list.items())
        if (std::as_const(item)[key].as_string() == value) return item;
    throw std::runtime_error("no such entry: " + std::string(value));
}

Json& named(Json& list, std::string_view name) { return named_item(list, "name", name); }

Json& node(Json& job_set) { return named(pod_spec(job_set, "node")["containers"], "node"); }

const Json& trainer_job(const Json& job_set) {
    for (const Json& job : job_set["spec"]["replicatedJobs"].items())
        if (job["template"]["metadata"]["labels"][api::ancestor_label].as_string() == api::ancestor_trainer)
            return job;
    throw std::runtime_error("nobody trains");
}

std::string endpoint(const PipelineCase& c, const Json& job_set) {
    const std::string subdomain(job_set["spec"]["network"]["subdomain"].as_string());
    return c.job.meta.name + "-" + std::string(trainer_job(job_set)["name"].as_string()) + "-0-0." +
           (subdomain.empty() ? c.job.meta.name : subdomain);
}

void replace_text(Json& tree, const std::string& from, const std::string& to) {
    if (tree.is_array())
        for (Json& item : tree.items()) replace_text(item, from, to);
    if (tree.is_object())
        for (auto& member : tree.members()) replace_text(member.value, from, to);
    std::string text(std::as_const(tree).as_string());
    if (const auto at = text.find(from); at != text.npos) tree = text.replace(at, from.size(), to);
}

Json rank(std::string_view name) {
    return Json::object(
        {{"name", name},
         {"valueFrom", Json::object({{"fieldRef", Json::object({{"fieldPath",
                                                                 "metadata.annotations['batch.kubernetes.io/"
                                                                 "job-completion-index']"}})}})}});
}

Json value(std::string_view name, std::string text) {
    return Json::object({{"name", name}, {"value", text}});
}

// What a framework puts into the node container when spec.trainer is there, in its order.
void add_framework_environment(const PipelineCase& c, Json& job_set) {
    const Json& policy = (*c.runtime)["spec"]["mlPolicy"];
    const std::string count =
        std::to_string(trainer_job(job_set)["template"]["spec"]["parallelism"].int_or(0));
    const std::string host = endpoint(c, job_set);
    const Json& resources = std::as_const(node(job_set))["resources"];
    const bool gpu = resources["limits"].contains("nvidia.com/gpu");
    Json& env = node(job_set)["env"];
    if (policy["torch"].is_object())
        for (const Json& entry :
             {value("PET_NNODES", count), value("PET_NPROC_PER_NODE", gpu ? "auto" : "1"),
              rank("PET_NODE_RANK"), value("PET_MASTER_ADDR", host), value("PET_MASTER_PORT", "29500")})
            env.push_back(entry);
    if (policy["jax"].is_object())
        for (const Json& entry : {value("JAX_NUM_PROCESSES", count), rank("JAX_PROCESS_ID"),
                                  value("JAX_COORDINATOR_ADDRESS", host + ":29500")})
            env.push_back(entry);
    if (policy["xgboost"].is_object())
        for (const Json& entry : {value("DMLC_TRACKER_URI", host), value("DMLC_TRACKER_PORT", "29500"),
                                  rank("DMLC_TASK_ID"), value("DMLC_NUM_WORKER", count)})
            env.push_back(entry);
    node(job_set)["ports"].push_back(Json::object({{"containerPort", 29500}}));
}

void use_first_endpoint(const PipelineCase& c, Json& job_set) {
    replace_text(job_set, c.job.meta.name + "-node-0-0." + c.job.meta.name, endpoint(c, job_set));
}

void strip_deadlines(const PipelineCase&, Json& job_set) {
    job_set["spec"].erase("ttlSecondsAfterFinished");
    for (Json& job : job_set["spec"]["replicatedJobs"].items())
        for (const std::string_view field : {"activeDeadlineSeconds", "ttlSecondsAfterFinished"})
            job["template"]["spec"].erase(field);
}

void detect_gpus(const PipelineCase&, Json& job_set) {
    named(node(job_set)["env"], "PET_NPROC_PER_NODE")["value"] = "auto";
}

void keep_patched_volume_source(const PipelineCase& c, Json& job_set) {
    const Json& patch =
        c.job.spec["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"][0];
    for (const Json& volume : patch["template"]["spec"]["template"]["spec"]["volumes"].items())
        named(pod_spec(job_set, "node")["volumes"], volume["name"].as_string()) = volume;
}

void keep_patched_env_source(const PipelineCase&, Json& job_set) {
    for (Json& container : pod_spec(job_set, "node")["containers"].items())
        if (Json* env = container.find("env"))
            for (Json& entry : env->items())
                if (entry.contains("valueFrom")) entry.erase("value");
}

void keep_claims(const PipelineCase& c, Json& job_set) {
    Json claims =
        std::as_const(*c.runtime)["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]
                                 ["template"]["spec"]["containers"][0]["resources"]["claims"];
    for (const Json& claim : c.job.spec["trainer"]["resourcesPerNode"]["claims"].items())
        named(claims, claim["name"].as_string()) = claim;
    node(job_set)["resources"]["claims"] = claims;
}

void copy_env_sources(const PipelineCase& c, Json& job_set) {
    for (const Json& entry : c.job.spec["trainer"]["env"].items())
        named(node(job_set)["env"], entry["name"].as_string()) = entry;
}

void narrow_key_mode(const PipelineCase&, Json& job_set) {
    for (Json& job : job_set["spec"]["replicatedJobs"].items())
        if (Json* volumes = job["template"]["spec"]["template"]["spec"].find("volumes"))
            for (Json& volume : volumes->items())
                if (std::as_const(volume)["name"].as_string() == "mpi-ssh-auth")
                    named_item(volume["secret"]["items"], "path", "id_rsa")["mode"] = 0600;
}

// Words instead of one line, a volume whose name is short enough, shared memory that can be written.
void pass_words_to_flux(const PipelineCase& c, Json& job_set) {
    const std::string scripts = c.job.meta.name + "-flux-entrypoint";
    Json& pod = pod_spec(job_set, "node");
    named(pod["volumes"], scripts)["name"] = "flux-scripts";
    for (const char* const list : {"containers", "initContainers"})
        for (Json& container : pod[list].items())
            for (Json& mount : container["volumeMounts"].items()) {
                if (std::as_const(mount)["name"].as_string() == scripts) mount["name"] = "flux-scripts";
                if (std::as_const(mount)["name"].as_string() == "shared-memory") mount.erase("readOnly");
            }
    Json& container = node(job_set);
    container.erase("args");
    Json& command = container["command"];
    command.items().pop_back();
    const Json runtime = *c.runtime;
    const Json& of_runtime = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]
                                    ["template"]["spec"]["containers"][0];
    for (const char* const part : {"command", "args"}) {
        const Json& own = c.job.spec["trainer"][part];
        for (const Json& word : (own.is_null() ? of_runtime[part] : own).items()) command.push_back(word);
    }
}

void add_broker_configuration(const PipelineCase& c, Json& config_map) {
    if (config_map["metadata"]["name"] == c.job.meta.name + "-flux-entrypoint")
        config_map["data"]["broker.toml"] = "<script>";
}

// What the original counts, with what it leaves out: limits without a request, replicas, RuntimeClasses.
void request_what_pods_take(const PipelineCase& c, Json& group) {
    std::map<std::string, api::Quantity> sum;
    std::int64_t pods = 0;
    const auto add = [&sum](std::int64_t count, const Json& list) {
        for (const auto& [name, value] : list.members())
            sum[name] += count * api::parse_quantity(value).value();
    };
    add(1, std::as_const(group)["spec"]["minResources"]);
    for (const Json& object : c.want["objects"].items()) {
        if (object["kind"].as_string() != "JobSet") continue;
        for (const Json& job : object["spec"]["replicatedJobs"].items()) {
            const std::int64_t once = job["template"]["spec"]["parallelism"].int_or(1);
            const std::int64_t all = once * job["replicas"].int_or(1);
            pods += all;
            const Json& spec = job["template"]["spec"]["template"]["spec"];
            for (const Json& existing : c.existing)
                if (existing["kind"].as_string() == "RuntimeClass" &&
                    existing["metadata"]["name"] == spec["runtimeClassName"])
                    add(all, existing["overhead"]["podFixed"]);
            for (const Json& container : spec["containers"].items()) {
                Json missing = container["resources"]["limits"];
                for (const auto& [name, value] : container["resources"]["requests"].members()) {
                    missing.erase(name);
                    sum[name] += (all - once) * api::parse_quantity(value).value();
                }
                add(all, missing);
            }
        }
    }
    group["spec"]["minMember"] = pods;
    for (const auto& [name, quantity] : sum) group["spec"]["minResources"][name] = to_string(quantity);
}

// References are to our specification of the pipeline: "#n" is a row of its list of the original's defects.
const Override overrides[] = {
    {"#7: without spec.trainer the framework gets its environment all the same",
     {"jax-without-trainer-injects-nothing", "xgboost-without-trainer-injects-nothing",
      "torch-env-injection-without-trainer", "torch-without-trainer-injects-nothing"},
     add_framework_environment},
    {"#11: addresses are those of the first Pod that trains, in the subdomain of the JobSet",
     {"torch-trainer-job-of-another-name-still-points-at-node",
      "torch-gpu-count-comes-from-first-matching-job",
      "torch-custom-subdomain-is-not-used-for-the-master-address"},
     use_first_endpoint},
    {"1.2: deadlines and TTLs in the template are stripped",
     {"job-spec-fields-pass-through", "jobset-policies-and-depends-on-pass-through"},
     strip_deadlines},
    {"#3: what the container gets is counted",
     {"torch-resources-per-node-without-gpu-hides-runtime-gpus"},
     detect_gpus},
    {"#10, 1.3: a patched volume has one source",
     {"patch-volume-of-same-name-switches-source"},
     keep_patched_volume_source},
    {"#10, 1.3: a patched variable has one source",
     {"patch-sidecar-env-switches-value-to-source"},
     keep_patched_env_source},
    {"#5: claims are merged by name", {"plainml-resources-per-node-own-claims-are-dropped"}, keep_claims},
    {"#17: OpenSSH wants its owner alone to read a private key",
     {"mpi-*", "horovod-on-mpi-under-volcano", "coscheduling-with-mpi-launcher-as-node"},
     narrow_key_mode},
    {"#21, #22, #24, #26: Flux gets the program word by word, and volumes that work",
     {"flux-*"},
     pass_words_to_flux},
    {"#27: the brokers' configuration is a file of the ConfigMap",
     {"flux-*", "running-jobset-still-applies-flux-objects"},
     add_broker_configuration,
     "ConfigMap"},
    {"#29: limits and the overhead of RuntimeClasses count, #13: replicas too",
     {"coscheduling-*", "volcano-*", "quantities-are-written-in-canonical-form"},
     request_what_pods_take,
     "PodGroup"},
    {"#10, 1.7: sources of variables are copied as they are",
     {"trainer-env-file-key-ref-is-lost"},
     copy_env_sources},
};

struct Refusal {
    const char* reason;
    std::set<std::string> cases;
    const char* field;
};

// What is not built, by the original's verdict or by ours, and the field that is to blame.
const Refusal refusals[] = {
    {"#13: of two jobs that train only the first would be configured",
     {"plainml-two-trainer-jobs-only-first-is-scaled"},
     "spec.template.spec.replicatedJobs[1].template.metadata.labels"},
    {"Q2: our own labels cannot be patched",
     {"patch-can-give-the-trainer-role-by-label", "patch-can-remove-the-trainer-role-by-label"},
     "spec.runtimePatches[0]"},
    {"#8: a patch for a job that the runtime does not have",
     {"patch-unknown-job-adds-an-empty-job", "patch-unknown-job-without-template"},
     "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].name"},
    {"#8: a patch for an init container that the runtime does not have",
     {"patch-unknown-init-container-adds-one-without-image"},
     "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec.template.spec."
     "initContainers[0].name"},
    {"#25: GPUs are given to processes, so each must get the same number",
     {"flux-gpus-per-task-and-procs-from-runtime"},
     "spec.trainer.numProcPerNode"},
    {"2.8: one way of gang scheduling at a time",
     {"volcano-and-coscheduling-together-make-two-pod-groups"},
     "spec.podGroupPolicy"},
    {"#32: a gang has one priority",
     {"volcano-last-priority-class-wins"},
     "spec.template.spec.replicatedJobs[1].template.spec.template.spec.priorityClassName"},
    {"#33, J19: names of the status server are reserved",
     {"status-server-user-env-of-the-same-name-wins"},
     "spec.trainer.env[0]"},
    {"lists are merged by key, which every item of a patch must have",
     {"patch-image-pull-secret-with-empty-name-fails"},
     "spec.runtimePatches[0]"},
    {"1.1: a snapshot is for one TrainJob",
     {"snapshot-of-another-owner-is-an-error", "snapshot-without-owner-is-an-error"},
     "spec.runtimeRef"},
    {"1.1: a snapshot holds the runtime that the TrainJob refers to",
     {"snapshot-of-another-kind-is-an-error", "snapshot-with-broken-yaml-is-an-error"},
     "spec.runtimeRef"},
    {"2.10: without the CA of the status server Pods could not report",
     {"status-server-missing-secret-fails", "status-server-secret-without-ca-fails"},
     "data[ca.crt]"},
    {"2.2: the environment of a job that the runtime does not have",
     {"torch-env-injection-target-job-missing-fails"},
     "spec.mlPolicy.torch.envInjection.targets[0].jobName"},
};

struct Elsewhere {
    const char* reason;
    std::set<std::string> cases;
};

struct BuiltAfterAll {
    const char* reason;
    std::set<std::string> cases;
    void (*spell_out)(PipelineCase& c);
};
const BuiltAfterAll built_after_all[] = {
    {"#16: an empty implementation is Open MPI",
     {"mpi-empty-implementation-fails"},
     [](PipelineCase& c) { (*c.runtime)["spec"]["mlPolicy"]["mpi"]["mpiImplementation"] = "OpenMPI"; }},
    {"#19: without spec.trainer or numNodes the runtime's numbers hold",
     {"flux-without-trainer-panics", "flux-without-num-nodes-panics"},
     [](PipelineCase& c) { c.train_job["spec"]["trainer"]["numNodes"] = 1; }},
    {"1.2: a stored runtime without the schema's defaults gets them",
     {"mpi-policy-stored-without-defaults-panics"},
     [](PipelineCase& c) {
         (*c.runtime)["spec"]["mlPolicy"]["mpi"] = Json::object({{"numProcPerNode", 1},
                                                                 {"mpiImplementation", "OpenMPI"},
                                                                 {"runLauncherAsNode", false},
                                                                 {"sshAuthMountPath", "/root/.ssh"}});
     }},
    {"1.2: the same for Flux",
     {"flux-policy-stored-without-defaults-panics"},
     [](PipelineCase& c) { (*c.runtime)["spec"]["mlPolicy"]["flux"]["numProcPerNode"] = 1; }},
};

const Elsewhere elsewhere[] = {
    {"the runtime is looked up by the reconciler",
     {"missing-namespaced-runtime-is-an-error", "namespaced-runtime-of-another-namespace-is-not-found",
      "unsupported-runtime-kind-panics"}},
    {"lifecycle::decide ends the pass before anything is built",
     {"deadline-long-passed-fails-and-deletes-the-jobset", "failed-trainjob-builds-nothing",
      "jobset-completed-condition-becomes-complete", "managed-by-multikueue-suspended-job-builds-nothing"}},
    {"lifecycle::decide says that the JobSet is left alone",
     {"jobset-of-somebody-else-counts-as-running", "running-jobset-is-not-applied-again"}},
};

}  // namespace

std::vector<const Override*> find_overrides(const std::string& case_name) {
    std::vector<const Override*> rows;
    for (const Override& row : overrides)
        for (const std::string& name : row.cases)
            if (name == case_name ||
                (name.ends_with('*') && case_name.starts_with(name.substr(0, name.size() - 1))))
                rows.push_back(&row);
    return rows;
}

const char* refused_field(const std::string& case_name) {
    for (const Refusal& row : refusals)
        if (row.cases.contains(case_name)) return row.field;
    return nullptr;
}

std::optional<PipelineCase> spelled_out(const PipelineCase& c) {
    for (const BuiltAfterAll& row : built_after_all) {
        if (!row.cases.contains(c.name)) continue;
        PipelineCase full = c;
        row.spell_out(full);
        full.job = api::parse_train_job(full.train_job);
        return full;
    }
    return std::nullopt;
}

std::string decided_elsewhere(const std::string& case_name) {
    for (const Elsewhere& row : elsewhere)
        if (row.cases.contains(case_name)) return row.reason;
    return {};
}

std::set<std::string> named_cases() {
    std::set<std::string> names = cases_with_additions();
    for (const Override& row : overrides) names.insert(row.cases.begin(), row.cases.end());
    for (const Refusal& row : refusals) names.insert(row.cases.begin(), row.cases.end());
    for (const Elsewhere& row : elsewhere) names.insert(row.cases.begin(), row.cases.end());
    for (const BuiltAfterAll& row : built_after_all) names.insert(row.cases.begin(), row.cases.end());
    std::erase_if(names, [](const std::string& name) { return name.ends_with('*'); });
    return names;
}
