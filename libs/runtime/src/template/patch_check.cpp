#include "template/template.hpp"

#include "api/names.hpp"
#include "merge/place.hpp"
#include "runtime/active_plugins.hpp"
#include "template/edit.hpp"

namespace runtime {
namespace {

using api::FieldError;
using api::FieldErrors;
using api::FieldErrorType;
using api::Json;
using merge::Place;

struct Check {
    PatchCheck purpose;
    const ActivePlugins& plugins;
    FieldErrors& errors;
    api::NamedItems of_runtime = {};

    void refuse(const Place& place, const Json& value, std::string rule) {
        errors.push_back({FieldErrorType::invalid, place.text(), value, std::move(rule), {}});
    }
};

constexpr std::string_view own_prefix = "trainer.kubeflow.org/";

// Refuses keys under the prefix of the API's group, which determine the roles of jobs.
void check_metadata(Check& check, const Json& metadata, const Place& patch) {
    for (const std::string_view map : {"labels", "annotations"})
        for (const auto& [key, value] : metadata[map].members())
            if (key.starts_with(own_prefix))
                check.refuse(patch, key,
                             "labels and annotations under " + std::string(own_prefix) +
                                 " cannot be patched: the runtime decides them");
}

// Refuses keys that look like directives of a merge. Only maps of strings can have such keys; elsewhere the
// schema has pruned them.
void check_directives(Check& check, const Json& tree, const Place& patch) {
    for (const Json& item : tree.items()) check_directives(check, item, patch);
    for (const auto& [key, value] : tree.members()) {
        if (key.starts_with('$'))
            check.refuse(patch, key, "keys that begin with $ are not allowed in a patch");
        check_directives(check, value, patch);
    }
}

std::string_view field_for_env_of(std::string_view container) {
    if (container == api::node_container) return "spec.trainer.env";
    if (container == api::ancestor_dataset_initializer) return "spec.initializer.dataset.env";
    if (container == api::ancestor_model_initializer) return "spec.initializer.model.env";
    return {};
}

std::string shortened(std::string_view name) {
    constexpr std::size_t longest = 253;
    return name.size() <= longest ? std::string(name) : std::string(name.substr(0, longest)) + "...";
}

// Returns the names of the first items, as a suggestion.
std::string there_are(const Json& list) {
    constexpr std::size_t enough = 5;
    const auto& items = list.items();
    if (items.empty()) return "it has none";
    std::string names;
    for (std::size_t i = 0; i < items.size() && i < enough; ++i)
        names += (i ? ", " : "") + ("\"" + shortened(items[i]["name"].as_string()) + "\"");
    return "there are " + names + (items.size() > enough ? " and others" : "");
}

// `base` is the runtime's Pod spec; nullptr if there is none, which is an error of its own. `job` has it.
void check_containers(Check& check, std::string_view job, const Json& pod_spec, const Json* base,
                      std::string_view list, const Place& outer) {
    const Place list_place = {.outer = &outer, .member = list};
    const auto& containers = pod_spec[list].items();
    for (std::size_t i = 0; i < containers.size(); ++i) {
        const Place place = {.outer = &list_place, .index = i};
        const std::string_view name = containers[i]["name"].as_string();
        const bool is_added = list == "initContainers" && check.plugins.adds_container(job, name);
        if (base && !is_added && !check.of_runtime.find((*base)[list], name))
            check.refuse({.outer = &place, .member = "name"}, containers[i]["name"],
                         "the runtime's job has no such entry in its " + std::string(list) + ": " +
                             there_are((*base)[list]));
        const std::string_view instead = field_for_env_of(name);
        if (check.purpose == PatchCheck::admission && !instead.empty() && !containers[i]["env"].empty())
            check.refuse({.outer = &place, .member = "env"}, name,
                         "the environment of this container cannot be patched; use " + std::string(instead));
    }
}

void check_jobs(Check& check, const Json& patched_spec, const Json& base_spec, const Place& patch,
                const Place& spec_place) {
    const Place list_place = {.outer = &spec_place, .member = "replicatedJobs"};
    const auto& jobs = patched_spec["replicatedJobs"].items();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const Place place = {.outer = &list_place, .index = i};
        const Json& job_template = jobs[i]["template"];
        check_metadata(check, job_template["metadata"], patch);
        check_metadata(check, job_template["spec"]["template"]["metadata"], patch);
        const Json* base = check.of_runtime.find(base_spec["replicatedJobs"], jobs[i]["name"].as_string());
        if (!base)
            check.refuse({.outer = &place, .member = "name"}, jobs[i]["name"],
                         "the runtime has no such job: " + there_are(base_spec["replicatedJobs"]));
        const Place template_place = {.outer = &place, .member = "template"};
        const Place job_place = {.outer = &template_place, .member = "spec"};
        const Place pod_place = {.outer = &job_place, .member = "template"};
        const Place pod_spec_place = {.outer = &pod_place, .member = "spec"};
        const Json& pod_spec = job_template["spec"]["template"]["spec"];
        const Json* base_pod_spec = base ? &(*base)["template"]["spec"]["template"]["spec"] : nullptr;
        const std::string_view name = jobs[i]["name"].as_string();
        check_containers(check, name, pod_spec, base_pod_spec, "initContainers", pod_spec_place);
        check_containers(check, name, pod_spec, base_pod_spec, "containers", pod_spec_place);
    }
}

}  // namespace

FieldErrors check_patches(const Json& runtime, const Json& train_job_spec, const ActivePlugins& plugins,
                          PatchCheck purpose) {
    FieldErrors errors;
    Check check{purpose, plugins, errors};
    const Place root;
    const Place spec = {.outer = &root, .member = "spec"};
    const Place list = {.outer = &spec, .member = "runtimePatches"};
    const auto& patches = train_job_spec["runtimePatches"].items();
    for (std::size_t i = 0; i < patches.size(); ++i) {
        const Place patch = {.outer = &list, .index = i};
        const Place runtime_spec = {.outer = &patch, .member = "trainingRuntimeSpec"};
        const Place job_set_template = {.outer = &runtime_spec, .member = "template"};
        const Place job_set_spec = {.outer = &job_set_template, .member = "spec"};
        const Json& patched = patches[i]["trainingRuntimeSpec"]["template"];
        // A build merges a stored patch with keys that look like directives literally.
        if (purpose == PatchCheck::admission) check_directives(check, patched, patch);
        check_metadata(check, patched["metadata"], patch);
        check_jobs(check, patched["spec"], runtime["spec"]["template"]["spec"], patch, job_set_spec);
    }
    return errors;
}

}  // namespace runtime
