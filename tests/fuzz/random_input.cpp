#include "random_input.hpp"

#include <initializer_list>
#include <set>
#include <utility>

#include "api/dns_label.hpp"
#include "api/names.hpp"

namespace {

using api::Json;

// Returns nullptr if there is no such value.
Json* find_at(Json& root, std::initializer_list<std::string_view> path) {
    Json* step = &root;
    for (const std::string_view name : path)
        if (step) step = step->find(name);
    return step;
}

// Returns the items of the list at `path`; none if there is no list.
std::vector<Json*> items_at(Json& root, std::initializer_list<std::string_view> path) {
    std::vector<Json*> found;
    if (Json* list = find_at(root, path); list && list->is_array())
        for (Json& item : list->items()) found.push_back(&item);
    return found;
}

std::string name_of(const Json& named) { return std::string(named["name"].as_string()); }

std::set<std::string> names_in(const Json& list) {
    std::set<std::string> names;
    for (const Json& item : list.items()) names.insert(name_of(item));
    return names;
}

// maxItems of containerNames in the CRDs.
constexpr std::size_t most_container_names = 8;

const Json& pod_spec_of(const Json& job) { return job["template"]["spec"]["template"]["spec"]; }
Json* pod_spec_of(Json& job) { return find_at(job, {"template", "spec", "template", "spec"}); }

// Names that Pods cannot have are denied, so mostly there are none.
void give_names_to_jobs(SchemaValues& values, Json& runtime_spec) {
    int number = 0;
    for (Json* job : items_at(runtime_spec, {"template", "spec", "replicatedJobs"})) {
        ++number;
        if (!api::is_dns_label(name_of(*job)) && values.mostly())
            (*job)["name"] = "job-" + std::to_string(number);
    }
}

// Two trainers are denied, so mostly one is left.
void leave_one_trainer(SchemaValues& values, Json& runtime_spec) {
    bool found = false;
    for (Json* job : items_at(runtime_spec, {"template", "spec", "replicatedJobs"})) {
        Json* labels = find_at(*job, {"template", "metadata", "labels"});
        if (!labels || std::as_const(*labels)[api::ancestor_label].as_string() != api::ancestor_trainer)
            continue;
        if (found && (values.maybe(50) || values.mostly())) labels->erase(api::ancestor_label);
        found = true;
    }
}

// Removes combinations that are denied in a runtime, and values that only the CRD's CEL rules deny.
void settle_policies(SchemaValues& values, Json& runtime_spec) {
    if (Json* gang = runtime_spec.find("podGroupPolicy"); gang && gang->is_object() && values.mostly())
        while (gang->members().size() > 1)
            gang->erase(std::string(gang->members().begin()[values.below(gang->members().size())].key));
    constexpr std::string_view keywords[] = {"auto", "cpu", "gpu"};
    if (Json* processes = find_at(runtime_spec, {"mlPolicy", "torch", "numProcPerNode"});
        processes && !processes->is_integer() && values.mostly())
        *processes = keywords[values.below(3)];
    if (Json* network = find_at(runtime_spec, {"template", "spec", "network"});
        network && network->contains("enableDNSHostnames") && values.mostly())
        (*network)["enableDNSHostnames"] = true;
    for (Json* target : items_at(runtime_spec, {"mlPolicy", "torch", "envInjection", "targets"})) {
        const auto& jobs = std::as_const(runtime_spec)["template"]["spec"]["replicatedJobs"].items();
        if (jobs.empty() || !values.mostly()) continue;
        const Json& job = jobs[values.below(jobs.size())];
        (*target)["jobName"] = job["name"];
        std::set<std::string> names;
        for (const char* list : {"initContainers", "containers"})
            for (const std::string& name : names_in(pod_spec_of(job)[list]))
                if (names.size() < most_container_names && (values.maybe(60) || names.empty()))
                    names.insert(name);
        Json& listed = (*target)["containerNames"] = Json::array();
        for (const std::string& name : names) listed.push_back(name);
    }
}

// Returns the job's container "node", made of its first one if it has none; nullptr without any container.
Json* node_of(Json& job) {
    const auto containers =
        pod_spec_of(job) ? items_at(*pod_spec_of(job), {"containers"}) : std::vector<Json*>();
    for (Json* container : containers)
        if (name_of(*container) == api::node_container) return container;
    if (containers.empty()) return nullptr;
    (*containers.front())["name"] = api::node_container;
    return containers.front();
}

// Flux requires the job "node".
void give_flux_a_node(SchemaValues& values, Json& runtime_spec) {
    if (!find_at(runtime_spec, {"mlPolicy", "flux"}) || !values.mostly()) return;
    const auto jobs = items_at(runtime_spec, {"template", "spec", "replicatedJobs"});
    for (Json* job : jobs)
        if (name_of(*job) == api::node_container && node_of(*job)) return;
    for (Json* job : jobs)
        if (name_of(*job) != api::node_container && node_of(*job)) {
            for (Json* other : jobs)
                if (name_of(*other) == api::node_container) (*other)["name"] = "another";
            (*job)["name"] = api::node_container;
            return;
        }
    runtime_spec["mlPolicy"].erase("flux");
}

// GPUs behind claims are counted only without GPUs among plain resources.
void give_claims(SchemaValues& values, Json& runtime_spec) {
    const auto jobs = items_at(runtime_spec, {"template", "spec", "replicatedJobs"});
    if (jobs.empty() || !values.maybe(30)) return;
    Json* node = node_of(*jobs.front());
    if (!node) return;
    (*jobs.front())["template"]["metadata"]["labels"][api::ancestor_label] = api::ancestor_trainer;
    Json& claims = (*pod_spec_of(*jobs.front()))["resourceClaims"] = Json::array();
    Json& references = (*node)["resources"] = Json::object();
    std::vector<std::string> names;
    for (const char* name : {"gpus", "a", "b"})
        if (values.maybe(60)) names.emplace_back(name);
    for (auto more = values.more_of("resourceClaims"); more > 0; --more)
        names.push_back("claim-" + std::to_string(more));
    for (const std::string& name : names) {
        claims.push_back(Json::object({{"name", name}}));
        Json reference = Json::object({{"name", name}});
        if (values.maybe(40)) reference["request"] = values.maybe(50) ? "a" : "run";
        references["claims"].push_back(std::move(reference));
    }
    if (!runtime_spec["mlPolicy"].is_object()) runtime_spec["mlPolicy"] = Json::object();
}

// A claim has one source.
void settle_claim_sources(SchemaValues& values, Json& pod_spec) {
    for (Json* claim : items_at(pod_spec, {"resourceClaims"})) {
        if (!values.mostly()) continue;
        const bool existing = values.maybe(50);
        claim->erase(existing ? "resourceClaimTemplateName" : "resourceClaimName");
        (*claim)[existing ? "resourceClaimName" : "resourceClaimTemplateName"] =
            values.maybe(50) ? std::string(values.maybe(50) ? "gpus" : "a") : name_of(*claim);
    }
}

// Containers use claims of their Pod.
void aim_claims(SchemaValues& values, Json* resources, const std::set<std::string>& claims) {
    if (!resources || !resources->contains("claims") || !values.mostly()) return;
    if (claims.empty()) {
        resources->erase("claims");
        return;
    }
    std::set<std::string> left = claims;
    Json& references = (*resources)["claims"];
    if (references.items().size() > left.size()) references.items().resize(left.size());
    for (Json& reference : references.items()) reference["name"] = left.extract(left.begin()).value();
}

void aim_claims_of_containers(SchemaValues& values, Json& pod_spec, const std::set<std::string>& claims) {
    for (const char* list : {"initContainers", "containers"})
        for (Json* container : items_at(pod_spec, {list}))
            aim_claims(values, container->find("resources"), claims);
}

// Items of a patch that the runtime lacks are denied, so mostly they get names of existing ones.
void aim_names(SchemaValues& values, Json* list, const Json& base) {
    if (!list || !list->is_array() || !values.mostly()) return;
    const auto names = names_in(base);
    Json::Array& items = list->items();
    if (items.size() > names.size()) items.resize(names.size());
    auto name = names.begin();
    for (Json& item : items) item["name"] = *name++;
}

// Signalbox's labels define the roles of jobs, so patches leave them alone.
void leave_roles(SchemaValues& values, Json* metadata) {
    if (!metadata || !values.mostly()) return;
    for (const char* map : {"labels", "annotations"})
        if (Json* keys = metadata->find(map); keys && keys->is_object())
            keys->members().erase_if(
                [](const auto& member) { return member.key.starts_with("trainer.kubeflow.org/"); });
}

void aim_patch(SchemaValues& values, Json& patch, const Json& runtime_spec) {
    Json* patched = find_at(patch, {"trainingRuntimeSpec", "template"});
    if (!patched) return;
    leave_roles(values, patched->find("metadata"));
    const Json& base_jobs = runtime_spec["template"]["spec"]["replicatedJobs"];
    aim_names(values, find_at(*patched, {"spec", "replicatedJobs"}), base_jobs);
    for (Json* job : items_at(*patched, {"spec", "replicatedJobs"})) {
        leave_roles(values, find_at(*job, {"template", "metadata"}));
        leave_roles(values, find_at(*job, {"template", "spec", "template", "metadata"}));
        Json* pod_spec = pod_spec_of(*job);
        if (!pod_spec) continue;
        static const Json nothing;
        const Json* base = &nothing;
        for (const Json& some : base_jobs.items())
            if (name_of(some) == name_of(*job)) base = &pod_spec_of(some);
        for (const char* list : {"initContainers", "containers"})
            aim_names(values, pod_spec->find(list), (*base)[list]);
        settle_claim_sources(values, *pod_spec);
        auto claims = names_in((*base)["resourceClaims"]);
        claims.merge(names_in(std::as_const(*pod_spec)["resourceClaims"]));
        aim_claims_of_containers(values, *pod_spec, claims);
    }
}

// Without any, nothing is built.
void give_images(Json& pod_spec) {
    for (const char* list : {"initContainers", "containers"})
        for (Json* container : items_at(pod_spec, {list}))
            if (std::as_const(*container)["image"].empty()) (*container)["image"] = "image";
}

void settle_runtime(SchemaValues& values, Json& runtime_spec) {
    give_names_to_jobs(values, runtime_spec);
    give_claims(values, runtime_spec);
    give_flux_a_node(values, runtime_spec);
    leave_one_trainer(values, runtime_spec);
    settle_policies(values, runtime_spec);
    const bool has_images = values.mostly();
    for (Json* job : items_at(runtime_spec, {"template", "spec", "replicatedJobs"}))
        if (Json* pod_spec = pod_spec_of(*job)) {
            if (has_images) give_images(*pod_spec);
            settle_claim_sources(values, *pod_spec);
            aim_claims_of_containers(values, *pod_spec, names_in(std::as_const(*pod_spec)["resourceClaims"]));
        }
}

void settle_job(SchemaValues& values, Json& job_spec, const Json& runtime_spec) {
    for (Json* patch : items_at(job_spec, {"runtimePatches"})) aim_patch(values, *patch, runtime_spec);
    std::set<std::string> claims;  // of the trainer's Pods
    for (const Json& job : runtime_spec["template"]["spec"]["replicatedJobs"].items())
        if (job["template"]["metadata"]["labels"][api::ancestor_label].as_string() == api::ancestor_trainer)
            claims = names_in(pod_spec_of(job)["resourceClaims"]);
    aim_claims(values, find_at(job_spec, {"trainer", "resourcesPerNode"}), claims);
}

// One input in 25 is large, one in 500 about as large as an API server accepts it. The more lists have grown,
// the smaller each is.
void choose_size(SchemaValues& values) {
    if (!values.maybe(4)) return;
    constexpr std::string_view members[] = {"args",
                                            "claims",
                                            "command",
                                            "containerNames",
                                            "containers",
                                            "dependsOn",
                                            "env",
                                            "labels",
                                            "limits",
                                            "replicatedJobs",
                                            "ports",
                                            "requests",
                                            "volumes",
                                            "annotations",
                                            "initContainers",
                                            "runtimePatches",
                                            "firstAvailable",
                                            "results",
                                            "targets",
                                            "tolerations",
                                            "resourceClaims",
                                            "imagePullSecrets",
                                            "volumeMounts",
                                            "value",
                                            "schedulingGates",
                                            "envFrom"};
    std::set<std::string_view> grown;
    for (auto count = 1 + values.below(4); count > 0; --count)
        grown.insert(members[values.below(std::size(members))]);
    if (values.maybe(30)) grown.insert({"env", "volumeMounts"});
    if (values.maybe(30)) grown.insert({"replicatedJobs", "runtimePatches"});
    const bool very = values.maybe(5);
    values.grow(std::move(grown), very ? 5000 : 300, very ? 30'000 : 3'000);
}

void make_older(SchemaValues& values, Json& spec, const Json& schema) {
    if (values.maybe(80))
        spec = values.vary(spec, schema, "spec");
    else
        spec = values.make(schema, "spec");
}

}  // namespace

Input make_input(SchemaValues& values, const Json& job_schema, const Json& runtime_schema) {
    choose_size(values);
    Json runtime_spec = values.make(runtime_schema, "spec");
    settle_runtime(values, runtime_spec);
    Json job_spec = values.make(job_schema, "spec");
    settle_job(values, job_spec, runtime_spec);
    const std::string runtime_name = values.maybe(20) ? "torchtune-llama3.2-1b" : "runtime";
    job_spec["runtimeRef"] = Json::object(
        {{"apiGroup", "trainer.kubeflow.org"}, {"kind", "ClusterTrainingRuntime"}, {"name", runtime_name}});
    Input input;
    input.job =
        Json::object({{"apiVersion", "trainer.kubeflow.org/v1alpha1"},
                      {"kind", "TrainJob"},
                      {"metadata", Json::object({{"name", "job"}, {"namespace", "ns"}, {"uid", "u"}})},
                      {"spec", std::move(job_spec)}});
    input.runtime = Json::object({{"apiVersion", "trainer.kubeflow.org/v1alpha1"},
                                  {"kind", "ClusterTrainingRuntime"},
                                  {"metadata", Json::object({{"name", runtime_name}})},
                                  {"spec", std::move(runtime_spec)}});
    input.older_job = input.job;
    if (values.maybe(70)) make_older(values, input.older_job["spec"], job_schema);
    input.older_runtime = input.runtime;
    if (values.maybe(70)) make_older(values, input.older_runtime["spec"], runtime_schema);
    return input;
}
