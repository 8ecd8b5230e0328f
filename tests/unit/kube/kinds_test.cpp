#include "kube/client/kinds.hpp"

#include <catch2/catch.hpp>

TEST_CASE("the collection of a kind is found by kind and version", "[kube]") {
    struct Case {
        const char* api_version;
        const char* kind;
        const char* resource;  // "": none
    };
    const Case cases[] = {
        {"trainer.kubeflow.org/v1alpha1", "TrainJob", "trainjobs.trainer.kubeflow.org"},
        {"trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime",
         "clustertrainingruntimes.trainer.kubeflow.org"},
        {"v1", "Secret", "secrets"},
        {"scheduling.x-k8s.io/v1alpha1", "PodGroup", "podgroups.scheduling.x-k8s.io"},
        {"scheduling.volcano.sh/v1beta1", "PodGroup", "podgroups.scheduling.volcano.sh"},
        {"trainer.kubeflow.org/v2", "TrainJob", ""},
        {"v1alpha1", "TrainJob", ""},
        {"core/v1", "Secret", ""},
        {"apps/v1", "Deployment", ""},
        {"", "", ""},
    };
    for (const Case& c : cases) {
        INFO(c.api_version << " " << c.kind);
        const kube::Resource* found = kube::find_resource(c.api_version, c.kind);
        CHECK((found ? to_string(*found) : "") == c.resource);
    }
}
