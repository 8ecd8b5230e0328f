#include "admission/routes.hpp"

#include "api/names.hpp"

namespace admission {
namespace {

// The parts of a new TrainJob on which its defaults do not depend. The defaults are time stamps of patches,
// whatever the TrainJob runs and whatever the patches say.
constexpr std::string_view trainer[] = {"request", "object", "spec", "trainer"};
constexpr std::string_view initializer[] = {"request", "object", "spec", "initializer"};
constexpr std::string_view patched[] = {"request",        "object", "spec",
                                        "runtimePatches", "[]",     "trainingRuntimeSpec"};
constexpr api::JsonPath unread_by_defaults[] = {trainer, initializer, patched};

// The paths are the original's: installed webhook configurations name them.
constexpr Route table[] = {
    {"/mutate-trainer-kubeflow-org-v1alpha1-trainjob", api::train_job_kind, nullptr, default_train_job, false,
     unread_by_defaults},
    {"/validate-trainer-kubeflow-org-v1alpha1-trainjob", api::train_job_kind, lookups_of_train_job,
     validate_train_job},
    {"/validate-trainer-kubeflow-org-v1alpha1-trainingruntime", api::training_runtime_kind,
     lookups_of_runtime, validate_runtime, true},
    {"/validate-trainer-kubeflow-org-v1alpha1-clustertrainingruntime", api::cluster_training_runtime_kind,
     lookups_of_runtime, validate_runtime, true},
};

}  // namespace

std::span<const Route> routes() { return table; }

const Route* find_route(std::string_view target) {
    const std::string_view path = target.substr(0, target.find('?'));
    for (const Route& route : table)
        if (route.path == path) return &route;
    return nullptr;
}

}  // namespace admission
