#include <algorithm>

#include "api/names.hpp"
#include "api_model.hpp"

namespace model {
namespace {

constexpr Kind kinds[] = {
    {"trainjobs.trainer.kubeflow.org", api::trainer_api_version, "TrainJob", true, true, false},
    {"trainingruntimes.trainer.kubeflow.org", api::trainer_api_version, "TrainingRuntime", false, true,
     false},
    {"clustertrainingruntimes.trainer.kubeflow.org", api::trainer_api_version, "ClusterTrainingRuntime",
     false, true, false},
    {"jobsets.jobset.x-k8s.io", api::job_set_api_version, "JobSet", true, true, true},
    {"jobs.batch", "batch/v1", "Job", true, true, false},
    {"pods", "v1", "Pod", true, false, false},
    {"configmaps", "v1", "ConfigMap", false, false, true},
    {"secrets", "v1", "Secret", false, false, true},
    {"services", "v1", "Service", false, false, false},
    {"persistentvolumeclaims", "v1", "PersistentVolumeClaim", true, false, false},
    {"podgroups.scheduling.x-k8s.io", "scheduling.x-k8s.io/v1alpha1", "PodGroup", true, true, true},
    {"podgroups.scheduling.volcano.sh", "scheduling.volcano.sh/v1beta1", "PodGroup", true, true, true},
    {"podgroups.scheduling.k8s.io", "scheduling.k8s.io/v1beta1", "PodGroup", true, true, true},
    {"poddisruptionbudgets.policy", "policy/v1", "PodDisruptionBudget", true, true, false},
    {"networkpolicies.networking.k8s.io", "networking.k8s.io/v1", "NetworkPolicy", false, true, false},
    {"relays.example.com", "example.com/v1", "Relay", true, true, true},
    {"limitranges", "v1", "LimitRange", false, false, false},
    {"resourceclaims.resource.k8s.io", "resource.k8s.io/v1", "ResourceClaim", true, true, false},
    {"runtimeclasses.node.k8s.io", "node.k8s.io/v1", "RuntimeClass", false, false, false},
    {"events", "v1", "Event", false, false, false},
    {"leases.coordination.k8s.io", "coordination.k8s.io/v1", "Lease", false, false, false},
};

}  // namespace

const Kind* kind_of(std::string_view resource) {
    const auto* at = std::find_if(std::begin(kinds), std::end(kinds),
                                  [&](const Kind& kind) { return kind.resource == resource; });
    return at == std::end(kinds) ? nullptr : at;
}

}  // namespace model
