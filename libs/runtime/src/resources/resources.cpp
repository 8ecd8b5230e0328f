#include "resources/resources.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "api/names.hpp"
#include "api/quantity.hpp"
#include "api/text.hpp"
#include "merge/strategic_merge.hpp"
#include "template/edit.hpp"

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

std::int64_t gpus_among(const Json& list) {
    std::int64_t whole_devices = 0;
    std::int64_t first_by_name = 0;
    for (const auto& [name, quantity] : list.members()) {
        const std::string key = api::to_lower(name);
        const std::int64_t count = key.find("gpu") == key.npos ? 0 : whole(quantity);
        if (count == 0) continue;
        if (first_by_name == 0) first_by_name = count;
        if (key.substr(key.rfind('/') + 1) != "gpu") continue;
        const bool fits = count <= std::numeric_limits<std::int64_t>::max() - whole_devices;
        whole_devices = fits ? whole_devices + count : std::numeric_limits<std::int64_t>::max();
    }
    return whole_devices > 0 ? whole_devices : first_by_name;
}

bool has_any(const Json& resources, std::string_view prefix) {
    for (const char* list : {"requests", "limits"})
        for (const auto& [name, quantity] : resources[list].members())
            if (name.starts_with(prefix) && whole(quantity) > 0) return true;
    return false;
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

DeviceCount devices_in(const Json& resources) {
    std::int64_t count = gpus_among(resources["requests"]);
    if (count == 0) count = gpus_among(resources["limits"]);
    const bool known =
        count > 0 || (resources["claims"].items().empty() && devices_by_class(resources).empty());
    if (known && count == 0 && has_gpu_parts(resources)) count = 1;
    return {.count = count, .known = known};
}

std::map<std::string, std::int64_t> devices_by_class(const Json& resources) {
    std::map<std::string, std::int64_t> found;
    for (const char* list : {"requests", "limits"})
        for (const auto& [name, quantity] : resources[list].members())
            if (const std::int64_t count = whole(quantity); name.starts_with(of_class) && count > 0)
                found.emplace(name.substr(of_class.size()), count);
    return found;
}

bool has_gpu_parts(const Json& resources) { return has_any(resources, "nvidia.com/mig-"); }
bool has_tpus(const Json& resources) { return has_any(resources, "google.com/tpu"); }

std::int64_t cpus(const Json& resources) {
    const std::int64_t requested = whole(resources["requests"]["cpu"]);
    return requested > 0 ? requested : whole(resources["limits"]["cpu"]);
}

}  // namespace runtime
