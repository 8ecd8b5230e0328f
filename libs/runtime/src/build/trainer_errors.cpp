#include "build/trainer_errors.hpp"

#include "api/names.hpp"
#include "api/quantity.hpp"
#include "resources/resource_errors.hpp"
#include "resources/resources.hpp"
#include "template/edit.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::FieldErrors;
using api::FieldErrorType;
using api::Json;

constexpr const char* per_node_path = "spec.trainer.resourcesPerNode";

bool is_less(const Json& left, const Json& right) {
    const auto a = api::parse_quantity(left);
    const auto b = api::parse_quantity(right);
    return a && b && *a < *b;
}

std::string words(const Json& quantity) {
    return quantity.is_string() ? std::string(quantity.as_string()) : to_json(quantity);
}

// Checks one list of `per_node`: each of its quantities, and the one of `others` that it must not be below
// (limits) or above (requests).
void compare(const Json& merged, const Json& per_node, bool limits, FieldErrors& errors) {
    const char* const list = limits ? "limits" : "requests";
    const char* const others = limits ? "requests" : "limits";
    for (const auto& [name, quantity] : per_node[list].members()) {
        const Json& other = merged[others][name];
        const bool is_of_job = per_node[others].contains(name);
        if (!can_be_overcommitted(name)) continue;  // unusable_resources() reports it
        // Both belong to the TrainJob: one error is enough.
        if (!limits && is_of_job) continue;
        if (!(limits ? is_less(quantity, other) : is_less(other, quantity))) continue;
        errors.push_back({FieldErrorType::invalid,
                          std::string(per_node_path) + "." + list + "[" + name + "]",
                          quantity,
                          std::string(limits ? "below the request " : "above the limit ") + words(other) +
                              (is_of_job ? "" : " of the runtime"),
                          {}});
    }
}

// Returns the list of `per_node` that has the resource; empty if only the runtime has it.
std::string_view list_of_job(const Json& per_node, const ResourceError& error) {
    if (per_node[error.list].contains(error.name)) return error.list;
    const std::string_view other = error.list == "limits" ? "requests" : "limits";
    return per_node[other].contains(error.name) ? other : std::string_view();
}

std::string place_of(const Json& replicated_job, const Json& container) {
    return "job " + shortened(replicated_job["name"].as_string()) + ", container " +
           shortened(container["name"].as_string());
}

// Adds an error for each resource that the container cannot have. `per_node` is what it gets of
// `resourcesPerNode`; null: nothing.
void add_resource_errors(const Json& replicated_job, const Json& container, const Json& per_node,
                         const api::TrainJob& job, FieldErrors& errors) {
    const auto merged = merged_resources(container["resources"], per_node);
    if (!merged) return;  // an error of its own
    for (ResourceError& error : resource_errors(*merged)) {
        const std::string_view list = list_of_job(per_node, error);
        if (list.empty())
            errors.push_back({FieldErrorType::invalid,
                              "spec.runtimeRef",
                              job.runtime_ref.name,
                              place_of(replicated_job, container) + ": " + error.place() + " " + error.rule,
                              {}});
        else
            errors.push_back({FieldErrorType::invalid,
                              std::string(per_node_path) + "." + std::string(list) + "[" + error.name + "]",
                              std::move(error.value),
                              std::move(error.rule),
                              {}});
    }
}

}  // namespace

bool takes_program(const Json& job) { return ancestor_of(job) == api::ancestor_trainer; }

FieldErrors image_errors(const Json& runtime, const api::TrainJob& job, const ActivePlugins& plugins) {
    FieldErrors errors;
    const bool has_own = !job.spec["trainer"]["image"].empty();
    for (const Json& replicated : jobs_of(runtime).items())
        for (const std::string_view list : {"initContainers", "containers"})
            for (const Json& container : pod_spec_of(replicated)[list].items()) {
                if (!container["image"].empty()) continue;
                const std::string_view name = container["name"].as_string();
                const std::string where = place_of(replicated, container);
                const bool takes_own =
                    plugins.takes_image(replicated) && list == "containers" && name == api::node_container;
                if (!takes_own)
                    errors.push_back({FieldErrorType::invalid,
                                      "spec.runtimeRef",
                                      job.runtime_ref.name,
                                      where + " has no image in the runtime",
                                      {}});
                else if (!has_own)
                    errors.push_back({FieldErrorType::required,
                                      "spec.trainer.image",
                                      {},
                                      where + " has no image in the runtime either",
                                      {}});
            }
    return errors;
}

FieldErrors limit_errors(const Json& runtime, const api::TrainJob& job, const ActivePlugins& plugins) {
    FieldErrors errors;
    const Json& per_node = job.spec["trainer"]["resourcesPerNode"];
    if (per_node.empty()) return errors;
    Receivers receivers(plugins);
    for (const Json& replicated : jobs_of(runtime).items()) {
        const Json* node = find_named(pod_spec_of(replicated)["containers"], api::node_container);
        if (!node || !receivers.include(replicated)) continue;
        const auto merged = merged_resources((*node)["resources"], per_node);
        if (!merged) continue;  // an error of its own
        compare(*merged, per_node, true, errors);
        compare(*merged, per_node, false, errors);
    }
    return errors;
}

FieldErrors unusable_resources(const Json& runtime, const api::TrainJob& job, const ActivePlugins& plugins) {
    static const Json nothing;
    FieldErrors errors;
    const Json& own = job.spec["trainer"]["resourcesPerNode"];
    Receivers receivers(plugins);
    for (const Json& replicated : jobs_of(runtime).items()) {
        if (replicated["replicas"].int_or(1) == 0) continue;  // it has no Pods
        const bool takes_own = receivers.include(replicated);
        for (const std::string_view list : {"initContainers", "containers"})
            for (const Json& container : pod_spec_of(replicated)[list].items()) {
                const bool is_node = list == "containers" && container["name"] == api::node_container;
                add_resource_errors(replicated, container, takes_own && is_node ? own : nothing, job, errors);
            }
    }
    return errors;
}

}  // namespace runtime
