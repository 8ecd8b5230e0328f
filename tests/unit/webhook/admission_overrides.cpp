#include "admission_overrides.hpp"

#include <algorithm>

namespace {

const std::string invalid = "Invalid value";

void refuse(AdmissionOutcome& want, std::vector<std::string> fields,
            std::set<std::string> types = {invalid}) {
    for (std::string& field : fields)
        for (char& c : field)
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
    std::sort(fields.begin(), fields.end());
    want.allowed = false;
    want.fields = std::move(fields);
    want.types = std::move(types);
}

std::string pod_of_patch(int patch, int job) {
    return "spec.runtimePatches[" + std::to_string(patch) +
           "].trainingRuntimeSpec.template.spec.replicatedJobs[" + std::to_string(job) +
           "].template.spec.template.spec.";
}

void allow(AdmissionOutcome& want) {
    want.allowed = true;
    want.fields.clear();
    want.types.clear();
}

}  // namespace

const std::vector<AdmissionOverride>& admission_overrides() {
    static const std::vector<AdmissionOverride> table = {
        {"J1 is about the field that names the runtime, which the original does not say",
         {"create-with-unsupported-api-group-is-refused", "create-with-unsupported-runtime-kind-is-refused"},
         [](auto&, auto& want) { refuse(want, {"spec.runtimeRef"}); }},
        {"J4: the CRD bounds names too, but only a webhook knows how long the Pods' names get",
         {"create-name-of-64-characters-is-refused-by-the-crd"},
         [](auto&, auto& want) { refuse(want, {"metadata.name"}); }},
        {"J10: older CRDs do not keep the deadline from being added or removed",
         {"update-deadline-is-refused-by-the-crd"},
         [](auto&, auto& want) { refuse(want, {"spec.activeDeadlineSeconds"}); }},
        {"J7 names the container's env, the original only the list of patches",
         {"create-patch-node-container-env-is-refused"},
         [](auto&, auto& want) { refuse(want, {pod_of_patch(0, 0) + "containers[0].env"}); }},
        {"J7 names each container's env, the original all of them once",
         {"create-patch-initializer-container-envs-are-refused"},
         [](auto&, auto& want) {
             refuse(want,
                    {pod_of_patch(0, 0) + "containers[0].env", pod_of_patch(0, 1) + "containers[0].env"});
         }},
        {"J7, J8 say which patch it is",
         {"create-patch-errors-of-several-managers-add-up"},
         [](auto&, auto& want) {
             refuse(want, {pod_of_patch(1, 0) + "containers[0].env", "spec.runtimePatches[0].manager",
                           "spec.trainer.env"});
         }},
        {"J8 says which patch it is",
         {"create-patch-empty-manager-is-refused"},
         [](auto&, auto& want) { refuse(want, {"spec.runtimePatches[0].manager"}, {"Required value"}); }},
        {"J8 says which patch it is",
         {"create-patch-manager-with-bad-path-is-refused"},
         [](auto&, auto& want) {
             refuse(want, {"spec.runtimePatches[0].manager", "spec.runtimePatches[1].manager"});
         }},
        {"J7 looks at the template before it is patched; the original looks when the names are in it",
         {"create-patch-unknown-init-container-is-allowed-by-upstream"},
         [](auto&, auto& want) { refuse(want, {pod_of_patch(0, 0) + "initContainers[0].name"}); }},
        {"J7 looks at the template before it is patched; the original looks when the names are in it",
         {"create-patch-unknown-job-is-allowed-by-upstream"},
         [](auto&, auto& want) {
             refuse(want,
                    {"spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].name"});
         }},
        {"J3 denies with the path of the patch where the original crashes",
         {"create-patch-nameless-pull-secret-under-volcano-panics"},
         [](auto&, auto& want) { refuse(want, {"spec.runtimePatches[0]"}); }},
        {"J17, J18 name the runtime, which is where the mistake is; the original's paths do not exist",
         {"create-volcano-empty-queue-annotation-is-refused",
          "create-volcano-missing-priority-class-is-refused",
          "create-volcano-queue-emptied-by-patch-is-refused",
          "create-flux-reserved-init-container-is-refused"},
         [](auto&, auto& want) { refuse(want, {"spec.runtimeRef"}); }},
        {"J17 checks every job; the original stops at the first system class",
         {"create-volcano-system-priority-class-hides-later-missing-ones"},
         [](auto&, auto& want) { refuse(want, {"spec.runtimeRef"}); }},
        {"W1, W2 hold for namespaced runtimes as well",
         {"create-deprecated-namespaced-runtime-does-not-warn",
          "create-with-deprecated-namespaced-runtime-does-not-warn"},
         [](auto&, auto& want) { want.warnings = 1; }},
        {"W2 is said once, when the TrainJob is created",
         {"update-with-deprecated-runtime-warns-again"},
         [](auto&, auto& want) { want.warnings = 0; }},
        {"an update that leaves the spec alone passes, whatever has become of the runtime",
         {"update-after-runtime-was-deleted-is-refused"},
         [](auto&, auto& want) { allow(want); }},
        {"T1, T2 hold for both kinds and both operations; the original forgets updates of namespaced ones",
         {"update-namespaced-runtime-to-two-replicas-is-allowed"},
         [](auto&, auto& want) { refuse(want, {"spec.template.spec.replicatedJobs[0].replicas"}); }},
    };
    return table;
}

const std::vector<Later>& admission_cases_for_later() {
    static const std::vector<Later> table = {};
    return table;
}
