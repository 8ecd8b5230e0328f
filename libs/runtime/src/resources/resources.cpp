#include "resources/resources.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "api/names.hpp"
#include "api/quantity.hpp"
#include "merge/strategic_merge.hpp"
#include "template/edit.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::Json;

constexpr std::string_view of_class = "deviceclass.resource.kubernetes.io/";

// Returns whether Kubernetes takes a name for an extended resource: it has a domain other than kubernetes.io.
// The API server accepts the prefix of DRA-backed resources for extended ones too.
bool is_extended(std::string_view name) {
    if (name.starts_with(of_class)) return true;
    return name.find('/') != name.npos && name.find("kubernetes.io/") == name.npos;
}

bool request_equals_limit(std::string_view name) {
    return is_extended(name) || name.starts_with("hugepages-");
}

// Kubernetes uses a limit without a request for both, and refuses a request without a limit.
void level(Json& resources, const Json& per_node) {
    for (const auto& [name, quantity] : per_node["limits"].members()) {
        if (!request_equals_limit(name) || per_node["requests"].contains(name)) continue;
        if (Json* requests = resources.find("requests"))
            if (Json* stale = requests->find(name)) *stale = quantity;
    }
    Json::Object::Members missing;
    for (const auto& [name, quantity] : per_node["requests"].members())
        if (request_equals_limit(name) && !per_node["limits"].contains(name))
            missing.push_back({name, quantity});
    if (missing.empty()) return;
    api::JsonMerger limits(resources["limits"].members());
    for (auto& [name, quantity] : missing) limits[name] = std::move(quantity);
}

std::int64_t whole(const Json& quantity) {
    const auto parsed = api::parse_quantity(quantity);
    return parsed ? std::max<std::int64_t>(0, parsed->round_up()) : 0;
}

// Returns each resource that the container has, with its request, or its limit if it requests none.
std::map<std::string_view, std::int64_t> amounts(const Json& resources) {
    std::map<std::string_view, std::int64_t> found;
    for (const char* list : {"requests", "limits"})
        for (const auto& [name, quantity] : resources[list].members())
            if (const std::int64_t amount = whole(quantity); amount > 0) found.emplace(name, amount);
    return found;
}

std::string unknown_device(std::string_view name) {
    return "resource \"" + shortened(name) + "\" is in no table of accelerators (--accelerators)";
}

}  // namespace

api::Result<Json> merged_resources(const Json& of_container, const Json& per_node) {
    if (per_node.empty()) return of_container;
    auto merged = merge::strategic_merge(of_container, per_node, merge::resource_requirements());
    if (!merged)
        return api::invalid("spec.trainer.resourcesPerNode." + merged.error().field, merged.error().message);
    level(*merged, per_node);
    return merged;
}

api::Result<CountedResources> counted_resources(const Json& job_set_spec, const Json& per_node) {
    for (const Json& job : job_set_spec["replicatedJobs"].items()) {
        const Json& job_template = job["template"];
        if (job["name"].as_string() != api::node_container &&
            job_template["metadata"]["labels"][api::ancestor_label].as_string() != api::ancestor_trainer)
            continue;
        const Json* node =
            find_named(job_template["spec"]["template"]["spec"]["containers"], api::node_container);
        if (!node) continue;
        auto merged = merged_resources((*node)["resources"], per_node);
        if (!merged) return merged.error();
        if (!merged->empty())
            return CountedResources{std::move(*merged), &job_template["spec"]["template"]["spec"]};
    }
    return CountedResources();
}

DeviceCount devices_in(const Json& resources, const DeviceTable& table) {
    DeviceSum sum;
    std::string unknown;
    bool has_unclear = !resources["claims"].items().empty();
    for (const auto& [name, amount] : amounts(resources)) {
        const bool is_class = name.starts_with(of_class);
        const std::string_view known_as = is_class ? name.substr(of_class.size()) : name;
        if (const auto unit = table.find(known_as))
            sum.add(known_as, *unit, amount);
        else if (is_class)
            has_unclear = true;
        else if (unknown.empty() && looks_like_device(name))
            unknown = name;
    }
    DeviceCount total = sum.total();
    if (total.any()) return total;
    total.known = unknown.empty() && !has_unclear;
    if (!unknown.empty()) total.why = unknown_device(unknown);
    return total;
}

std::map<std::string, std::int64_t> devices_by_class(const Json& resources) {
    std::map<std::string, std::int64_t> found;
    for (const auto& [name, amount] : amounts(resources))
        if (name.starts_with(of_class)) found.emplace(name.substr(of_class.size()), amount);
    return found;
}

std::int64_t cpus(const Json& resources) {
    const std::int64_t requested = whole(resources["requests"]["cpu"]);
    return requested > 0 ? requested : whole(resources["limits"]["cpu"]);
}

}  // namespace runtime
