#include "kube/client/kinds.hpp"

#include <algorithm>

namespace kube {
namespace {

struct KindRow {
    std::string_view kind;
    Resource resource;
};

constexpr KindRow kinds[] = {
    {"TrainJob", resources::train_jobs},
    {"TrainingRuntime", resources::training_runtimes},
    {"ClusterTrainingRuntime", resources::cluster_training_runtimes},
    {"JobSet", resources::job_sets},
    {"ConfigMap", resources::config_maps},
    {"Secret", resources::secrets},
    {"PodGroup", resources::pod_groups},
    {"PodGroup", resources::volcano_pod_groups},
    {"LimitRange", resources::limit_ranges},
    {"RuntimeClass", resources::runtime_classes},
    {"PriorityClass", resources::priority_classes},
    {"ResourceClaim", resources::resource_claims},
    {"ResourceClaimTemplate", resources::resource_claim_templates},
    {"DeviceClass", resources::device_classes},
};

// Compares without a temporary string, since every reconcile calls it.
bool has_version(const Resource& resource, std::string_view api_version) {
    if (resource.group.empty()) return api_version == resource.version;
    return api_version.size() == resource.group.size() + 1 + resource.version.size() &&
           api_version.starts_with(resource.group) && api_version[resource.group.size()] == '/' &&
           api_version.ends_with(resource.version);
}

}  // namespace

const Resource* find_resource(std::string_view api_version, std::string_view kind) {
    const auto at = std::find_if(std::begin(kinds), std::end(kinds), [&](const KindRow& row) {
        return row.kind == kind && has_version(row.resource, api_version);
    });
    return at == std::end(kinds) ? nullptr : &at->resource;
}

}  // namespace kube
