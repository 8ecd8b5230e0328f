#include "judges.hpp"

#include <utility>

#include "review_budget.hpp"
#include "runtime_text.hpp"

namespace webhook {
namespace {

api::Verdict to_verdict(const api::AdmissionRequest& request, runtime::Findings findings) {
    api::Verdict verdict = api::denied_or_allowed(request, std::move(findings.errors));
    verdict.warnings = std::move(findings.warnings);
    return verdict;
}

}  // namespace

runtime::Lookups lookups_of_train_job(const api::AdmissionRequest& request) {
    return runtime::lookups_for(request.object, request.old_object);
}

runtime::Lookups lookups_of_runtime(const api::AdmissionRequest& request) {
    return runtime::lookups_for_runtime(request.object, request.old_object);
}

api::Verdict mutate_train_job(api::AdmissionRequest& request, const Circumstances& with) {
    api::Verdict verdict = api::allowed();
    const runtime::Writer writer = {.is_lossy = with.policy.lossy_clients.contains(request.username),
                                    .field_manager = request.field_manager};
    auto mutation = runtime::mutate_train_job(request.object, request.old_object, with.now, writer);
    verdict.patch = std::move(mutation.operations);
    verdict.restored = std::move(mutation.restored);
    return verdict;
}

api::Verdict validate_train_job(api::AdmissionRequest& request, const Circumstances& with) {
    const Facts& facts = with.facts;
    if (facts.runtime_refused)
        return api::denied_or_allowed(request,
                                      {{.field = facts.runtime_refused->field,
                                        .value = std::as_const(request.object)["spec"]["runtimeRef"]["name"],
                                        .detail = facts.runtime_refused->message,
                                        .rule = "J2"}});
    runtime::TrainJobReview review = {.object = std::move(request.object),
                                      .old_object = std::move(request.old_object),
                                      .runtime = facts.runtime.get(),
                                      .job_set = facts.job_set ? &*facts.job_set : nullptr,
                                      .observed = &facts.observed,
                                      .kueue_types = with.policy.kueue_types};
    return to_verdict(request, runtime::review_train_job(std::move(review), with.pipeline));
}

api::Verdict validate_runtime(api::AdmissionRequest& request, const Circumstances& with) {
    runtime::Findings findings;
    if (request.operation != "DELETE") {
        const std::size_t values = count_tree_values(request.object);
        if (values > max_runtime_values && count_tree_values(request.old_object) <= max_runtime_values)
            return api::denied_or_allowed(request, {{.type = api::FieldErrorType::forbidden,
                                                     .field = "spec",
                                                     .detail = "the runtime " + too_large_text(values),
                                                     .rule = "T4"}});
        findings = runtime::review_runtime(request.object, request.old_object, with.pipeline);
    }
    if (auto warning = runtime::warning_of_queued_jobs(request.object, with.facts.queued); !warning.empty())
        findings.warnings.push_back({.text = std::move(warning), .rule = "W20"});
    return to_verdict(request, std::move(findings));
}

}  // namespace webhook
