#include "api/resource.hpp"

#include <algorithm>

namespace api {
namespace {

constexpr Resource known[] = {resources::train_jobs,
                              resources::training_runtimes,
                              resources::cluster_training_runtimes,
                              resources::job_sets,
                              resources::config_maps,
                              resources::secrets,
                              resources::limit_ranges,
                              resources::runtime_classes,
                              resources::priority_classes,
                              resources::resource_claims,
                              resources::resource_claim_templates,
                              resources::device_classes};

// Compares without a temporary string, since every reconcile calls it.
bool has_version(const Resource& resource, std::string_view api_version) {
    if (resource.group.empty()) return api_version == resource.version;
    return api_version.size() == resource.group.size() + 1 + resource.version.size() &&
           api_version.starts_with(resource.group) && api_version[resource.group.size()] == '/' &&
           api_version.ends_with(resource.version);
}

const Resource* find(std::span<const Resource> resources, std::string_view api_version,
                     std::string_view kind) {
    const auto at = std::find_if(resources.begin(), resources.end(), [&](const Resource& resource) {
        return is_of(resource, api_version, kind);
    });
    return at == resources.end() ? nullptr : &*at;
}

}  // namespace

std::string to_string(const Resource& resource) {
    std::string text(resource.plural);
    if (!resource.group.empty()) text.append(".").append(resource.group);
    return text;
}

std::string api_version(const Resource& resource) {
    std::string text(resource.group);
    if (!text.empty()) text += '/';
    return text.append(resource.version);
}

bool is_of(const Resource& resource, std::string_view api_version, std::string_view kind) {
    return resource.kind == kind && has_version(resource, api_version);
}

bool is_of(const Resource& resource, const Json& object) {
    return is_of(resource, object["apiVersion"].as_string(), object["kind"].as_string());
}

const Resource* find_resource(std::string_view api_version, std::string_view kind,
                              std::span<const Resource> more) {
    const Resource* found = find(known, api_version, kind);
    return found ? found : find(more, api_version, kind);
}

}  // namespace api
