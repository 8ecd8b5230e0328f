#include "resources/pod_requests.hpp"

#include <algorithm>

namespace runtime {
namespace {

using api::Json;

void add(ResourceList& sum, const ResourceList& more) {
    for (const auto& [name, quantity] : more) sum[name] += quantity;
}

void raise(ResourceList& most, const ResourceList& other) {
    for (const auto& [name, quantity] : other) most[name] = std::max(most[name], quantity);
}

// The maximum number of kinds of resources. No node has as many. All requests of a Pod are added up for each
// of its containers.
constexpr std::size_t most_kinds = 128;

api::Error too_many(const std::string& path) {
    return api::invalid(
        path, "the Pods of a gang ask for " + std::to_string(most_kinds) + " kinds of resources at most");
}

// Adds the quantities of a list to `into`, whose own values stay.
api::Result<> read(const Json& list, const std::string& path, ResourceList& into) {
    if (list.members().size() > most_kinds) return too_many(path);
    for (const auto& [name, value] : list.members()) {
        const auto quantity = api::parse_quantity(value);
        if (!quantity) return api::invalid(path + "." + name, quantity.error().message);
        into.emplace(name, *quantity);
    }
    return {};
}

api::Result<ResourceList> container_requests(const Json& container, const std::string& path,
                                             const PodDefaults& defaults) {
    ResourceList requests;
    const Json& resources = container["resources"];
    for (const char* side : {"requests", "limits"})
        if (auto done = read(resources[side], path + ".resources." + side, requests); !done)
            return done.error();
    requests.insert(defaults.requests.begin(), defaults.requests.end());
    return requests;
}

// Returns whether the resource can be set for a whole Pod.
bool is_of_pod(std::string_view name) {
    return name == "cpu" || name == "memory" || name.starts_with("hugepages-");
}

api::Result<> apply_pod_level(const Json& resources, ResourceList& requests) {
    ResourceList own;
    if (auto done = read(resources["requests"], "resources.requests", own); !done) return done;
    for (const auto& [name, quantity] : own)
        if (is_of_pod(name)) requests[name] = quantity;
    // A limit without a request counts as the request, as it does in a container.
    ResourceList limits;
    if (auto done = read(resources["limits"], "resources.limits", limits); !done) return done;
    for (const auto& [name, quantity] : limits)
        if (is_of_pod(name)) requests.emplace(name, quantity);
    return {};
}

}  // namespace

ResourceList default_requests(const std::vector<Json>& observed) {
    // Several ranges may set one resource. The API server uses any of them; here the first by name counts.
    std::map<std::string_view, const Json*> ranges;
    for (const Json& object : observed)
        if (object["kind"].as_string() == "LimitRange")
            ranges.emplace(object["metadata"]["name"].as_string(), &object);
    ResourceList requests;
    for (const auto& [name, range] : ranges)
        for (const Json& limit : (*range)["spec"]["limits"].items()) {
            if (limit["type"].as_string() != "Container") continue;
            // One kind above the limit is enough for the error of too_many().
            for (const auto& [resource, value] : limit["defaultRequest"].members())
                if (const auto quantity = api::parse_quantity(value);
                    quantity && requests.size() <= most_kinds)
                    requests.emplace(resource, *quantity);
        }
    return requests;
}

api::Result<ResourceList> pod_requests(const Json& pod_spec, const PodDefaults& defaults) {
    ResourceList together;
    const auto& containers = pod_spec["containers"].items();
    for (std::size_t i = 0; i < containers.size(); ++i) {
        auto own = container_requests(containers[i], "containers[" + std::to_string(i) + "]", defaults);
        if (!own) return own.error();
        add(together, *own);
        if (together.size() > most_kinds) return too_many("containers[" + std::to_string(i) + "].resources");
    }
    ResourceList sidecars;
    ResourceList most;
    const auto& first = pod_spec["initContainers"].items();
    for (std::size_t i = 0; i < first.size(); ++i) {
        auto own = container_requests(first[i], "initContainers[" + std::to_string(i) + "]", defaults);
        if (!own) return own.error();
        if (first[i]["restartPolicy"].as_string() == "Always") {
            add(sidecars, *own);
        } else {
            add(*own, sidecars);
            raise(most, *own);
        }
        if (sidecars.size() > most_kinds || most.size() > most_kinds)
            return too_many("initContainers[" + std::to_string(i) + "].resources");
    }
    add(together, sidecars);
    raise(most, together);
    if (auto done = apply_pod_level(pod_spec["resources"], most); !done) return done.error();

    const bool own_overhead = !pod_spec["overhead"].empty();
    ResourceList overhead;
    if (auto done = read(own_overhead ? pod_spec["overhead"] : defaults.overhead, "overhead", overhead);
        !done)
        return done.error();
    add(most, overhead);
    return most;
}

}  // namespace runtime
