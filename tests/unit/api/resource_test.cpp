#include "api/resource.hpp"

#include <catch2/catch.hpp>

TEST_CASE("the collection of a kind is found by kind and version, among the known ones and others", "[api]") {
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
        {"gangs.example/v2", "PodGroup", "podgroups.gangs.example"},
        {"scheduling.x-k8s.io/v1alpha1", "PodGroup", ""},
        {"trainer.kubeflow.org/v2", "TrainJob", ""},
        {"v1alpha1", "TrainJob", ""},
        {"core/v1", "Secret", ""},
        {"apps/v1", "Deployment", ""},
        {"", "", ""},
    };
    const api::Resource more[] = {{"gangs.example", "v2", "podgroups", true, "PodGroup"}};
    for (const Case& c : cases) {
        INFO(c.api_version << " " << c.kind);
        const api::Resource* found = api::find_resource(c.api_version, c.kind, more);
        CHECK((found ? to_string(*found) : "") == c.resource);
    }
}
