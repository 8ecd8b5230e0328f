#include "admission/routes.hpp"

#include "admission/client_limits.hpp"
#include "admission/runtime_lister.hpp"
#include "admission/runtime_use.hpp"
#include "api/names.hpp"
#include "runtime/rule.hpp"

namespace admission {
namespace {

api::Verdict to_verdict(const api::AdmissionRequest& request, runtime::ValidationResult result) {
    api::Verdict verdict = api::validated(request, std::move(result.errors));
    verdict.warnings = std::move(result.warnings);
    return verdict;
}

api::Verdict default_train_job(const Review& review, const ReviewContext& with) {
    const api::AdmissionRequest& request = review.request;
    api::Verdict verdict = api::allowed();
    const bool is_lossy = with.policy.lossy_clients.contains(request.username);
    const runtime::Writer writer = {
        .is_lossy = is_lossy,
        .corrects = !is_lossy && with.policy.gates.has(runtime::Gate::edits) &&
                    api::may_be_corrected(api::parse_train_job(request.old_object)),
        .field_manager = request.field_manager};
    auto mutation = runtime::default_train_job(request.object, request.old_object, with.now, writer);
    verdict.patch = std::move(mutation.operations);
    verdict.restored = std::move(mutation.restored);
    return verdict;
}

// The parts of a new TrainJob on which its defaults do not depend. The defaults are time stamps of patches,
// whatever the TrainJob runs and whatever the patches say.
constexpr std::string_view trainer[] = {"request", "object", "spec", "trainer"};
constexpr std::string_view initializer[] = {"request", "object", "spec", "initializer"};
constexpr std::string_view patched[] = {"request",        "object", "spec",
                                        "runtimePatches", "[]",     "trainingRuntimeSpec"};
constexpr api::JsonPath unread_by_defaults[] = {trainer, initializer, patched};

runtime::RequiredInputs lookups_of_train_job(const api::AdmissionRequest& request) {
    return runtime::lookups_for(request.object, request.old_object);
}

api::Verdict validate_train_job(const Review& review, const ReviewContext& with) {
    const ReviewInputs& inputs = with.inputs;
    if (inputs.runtime_refused)
        return api::validated(review.request, {{.field = inputs.runtime_refused->field,
                                                .value = review.job.job.spec["runtimeRef"]["name"],
                                                .detail = inputs.runtime_refused->message,
                                                .rule = runtime::Rule::runtime_exists}});
    const runtime::TrainJobReview of_job = {.object = review.job,
                                            .old_object = review.old_job,
                                            .runtime = inputs.runtime.get(),
                                            .examined = inputs.examined.get(),
                                            .suggestion = inputs.suggestion,
                                            .job_set = inputs.job_set ? &*inputs.job_set : nullptr,
                                            .loss_by_new_job_set = inputs.loss_by_new_job_set,
                                            .observed = &inputs.observed,
                                            .is_well_formed = inputs.is_well_formed,
                                            .gates = with.policy.gates,
                                            .now = with.now};
    return to_verdict(review.request, runtime::validate_train_job(of_job, with.pipeline));
}

runtime::RequiredInputs lookups_of_runtime(const api::AdmissionRequest& request) {
    return {.jobs_of_runtime = change_of_runtime(request.object, request.old_object).matters()};
}

// Returns why a runtime cannot be deleted; nullopt: it can.
std::optional<api::Verdict> refuse_deletion(const api::AdmissionRequest& request,
                                            const std::optional<RuntimeUse>& use) {
    if (!use)
        return api::unavailable(
            "whether TrainJobs use the runtime could not be read from the API server: try again");
    auto why = denial_of_deletion(*use);
    if (why.empty()) return std::nullopt;
    return api::validated(request, {{.type = api::FieldErrorType::forbidden,
                                     .field = "metadata.name",
                                     .detail = std::move(why),
                                     .rule = runtime::Rule::runtime_in_use}});
}

// Validates either kind of runtime.
api::Verdict validate_runtime(const Review& review, const ReviewContext& with) {
    const api::AdmissionRequest& request = review.request;
    const RuntimeChange change = change_of_runtime(request.object, request.old_object);
    runtime::ValidationResult result;
    if (change.is_deletion) {
        if (with.policy.keeps_runtimes_in_use)
            if (auto refusal = refuse_deletion(request, with.inputs.use)) return std::move(*refusal);
    } else {
        const std::size_t values = count_tree_values(request.object);
        if (values > max_runtime_values && count_tree_values(request.old_object) <= max_runtime_values)
            return api::validated(request, {{.type = api::FieldErrorType::forbidden,
                                             .field = "spec",
                                             .detail = "the runtime " + too_large_text(values),
                                             .rule = runtime::Rule::template_unbuildable}});
        result =
            runtime::validate_runtime(request.object, request.old_object, with.pipeline, with.policy.gates);
    }
    if (with.inputs.use) result.warnings.append(warnings_of(*with.inputs.use, change));
    return to_verdict(request, std::move(result));
}

// The paths are the original's: installed webhook configurations name them.
constexpr Route table[] = {
    {.path = "/mutate-trainer-kubeflow-org-v1alpha1-trainjob",
     .kind = api::train_job_kind,
     .judge = default_train_job,
     .unread_on_create = unread_by_defaults},
    {.path = "/validate-trainer-kubeflow-org-v1alpha1-trainjob",
     .kind = api::train_job_kind,
     .lookups = lookups_of_train_job,
     .judge = validate_train_job,
     .reads_train_job = true},
    {.path = "/validate-trainer-kubeflow-org-v1alpha1-trainingruntime",
     .kind = api::training_runtime_kind,
     .lookups = lookups_of_runtime,
     .judge = validate_runtime,
     .reviews_deletions = true},
    {.path = "/validate-trainer-kubeflow-org-v1alpha1-clustertrainingruntime",
     .kind = api::cluster_training_runtime_kind,
     .lookups = lookups_of_runtime,
     .judge = validate_runtime,
     .reviews_deletions = true},
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
