#pragma once
#include <span>
#include <string>
#include <string_view>

#include "api/json.hpp"

namespace api {

/// A kind of the Kubernetes API and its REST collection. The texts are literals.
struct Resource {
    std::string_view group = {};  ///< empty: the core group
    std::string_view version = {};
    std::string_view plural = {};
    bool namespaced = true;
    std::string_view kind = {};  ///< may be empty if only the collection is used

    bool operator==(const Resource&) const = default;
};

namespace resources {
inline constexpr Resource train_jobs = {"trainer.kubeflow.org", "v1alpha1", "trainjobs", true, "TrainJob"};
inline constexpr Resource training_runtimes = {"trainer.kubeflow.org", "v1alpha1", "trainingruntimes", true,
                                               "TrainingRuntime"};
inline constexpr Resource cluster_training_runtimes = {
    "trainer.kubeflow.org", "v1alpha1", "clustertrainingruntimes", false, "ClusterTrainingRuntime"};
inline constexpr Resource job_sets = {"jobset.x-k8s.io", "v1alpha2", "jobsets", true, "JobSet"};
inline constexpr Resource config_maps = {"", "v1", "configmaps", true, "ConfigMap"};
inline constexpr Resource secrets = {"", "v1", "secrets", true, "Secret"};
inline constexpr Resource leases = {"coordination.k8s.io", "v1", "leases", true, "Lease"};
inline constexpr Resource events = {"", "v1", "events", true, "Event"};
inline constexpr Resource jobs = {"batch", "v1", "jobs", true, "Job"};
inline constexpr Resource pods = {"", "v1", "pods", true, "Pod"};
inline constexpr Resource services = {"", "v1", "services", true, "Service"};
inline constexpr Resource volume_claims = {"", "v1", "persistentvolumeclaims", true, "PersistentVolumeClaim"};
inline constexpr Resource limit_ranges = {"", "v1", "limitranges", true, "LimitRange"};
inline constexpr Resource runtime_classes = {"node.k8s.io", "v1", "runtimeclasses", false, "RuntimeClass"};
inline constexpr Resource priority_classes = {"scheduling.k8s.io", "v1", "priorityclasses", false,
                                              "PriorityClass"};
inline constexpr Resource resource_claims = {"resource.k8s.io", "v1", "resourceclaims", true,
                                             "ResourceClaim"};
inline constexpr Resource resource_claim_templates = {"resource.k8s.io", "v1", "resourceclaimtemplates", true,
                                                      "ResourceClaimTemplate"};
inline constexpr Resource device_classes = {"resource.k8s.io", "v1", "deviceclasses", false, "DeviceClass"};
}  // namespace resources

/// Returns "trainjobs.trainer.kubeflow.org"; the plural alone for the core group. For messages and metrics.
std::string to_string(const Resource& resource);

/// Returns "trainer.kubeflow.org/v1alpha1"; the version alone for the core group.
std::string api_version(const Resource& resource);

/// Returns whether an object with these members is of that kind and version.
bool is_of(const Resource& resource, std::string_view api_version, std::string_view kind);
bool is_of(const Resource& resource, const Json& object);

/// Returns the resource of a kind of objects that users' manifests may hold: one of those above that
/// TrainJobs depend on, or of `more`; nullptr for other kinds.
const Resource* find_resource(std::string_view api_version, std::string_view kind,
                              std::span<const Resource> more = {});

}  // namespace api
