#include <span>

#include "api/names.hpp"
#include "api/train_job.hpp"
#include "build/steps.hpp"
#include "rules/validation_context.hpp"
#include "runtime/plugin.hpp"
#include "template/limits.hpp"
#include "template/shape.hpp"

namespace runtime {
namespace {

using api::FieldErrors;
using api::FieldErrorType;
using api::Json;

const Json nothing;

// The rules, in the order in which their errors are reported.
constexpr const std::span<const Check>* checks[] = {
    &name_checks, &patch_checks,   &deadline_checks,       &claim_checks,   &gate_checks,
    &edit_checks, &trainer_checks, &failure_policy_checks, &progress_checks};
constexpr const std::span<const Warner>* warnings[] = {
    &runtime_warnings, &trainer_warnings,        &subdomain_warnings, &lost_field_warnings, &time_warnings,
    &claim_warnings,   &failure_policy_warnings, &progress_warnings,  &signal_warnings};

// Whether rules for new TrainJobs apply: the TrainJob is new, or may be changed in any way.
bool is_reviewed_as_new(const ValidationContext& review) {
    return review.is_create() || (review.gates.has(Gate::edits) && review.may_be_corrected());
}

bool applies(AppliesTo reviews, const ValidationContext& review, bool is_harmless) {
    if (is_harmless) return reviews == AppliesTo::every_update;
    switch (reviews) {
        case AppliesTo::any:
        case AppliesTo::every_update: return true;
        case AppliesTo::creations: return review.is_create();
        case AppliesTo::new_ones: return is_reviewed_as_new(review);
        case AppliesTo::new_ones_or_new_patches:
            return is_reviewed_as_new(review) || review.patches_changed();
        case AppliesTo::new_ones_or_new_nodes: return is_reviewed_as_new(review) || review.nodes_changed();
        case AppliesTo::changes: return !is_reviewed_as_new(review);
    }
    return true;
}

bool has_input(const ValidationContext& review, RuleInput input) {
    return input == RuleInput::job || (input == RuleInput::runtime && !review.runtime.is_null()) ||
           (input == RuleInput::merged_template && !review.merged_spec.is_null());
}

std::string question(const RuntimeSuggestion& meant, const api::RuntimeRef& ref) {
    if (meant.name.empty()) return "";
    if (meant.kind == ref.kind) return "; did you mean \"" + meant.name + "\"?";
    return "; did you mean the " + meant.kind + " of that name? Then set spec.runtimeRef.kind";
}

// Checks the rules `runtime_ref` and `runtime_exists`: adds an error if there is no runtime to go on with.
void find_runtime(const api::TrainJob& job, const Json* runtime, const RuntimeSuggestion& meant,
                  FieldErrors& errors) {
    const api::RuntimeRef& ref = job.runtime_ref;
    if (!is_supported(ref))
        errors.push_back({FieldErrorType::invalid,
                          "spec.runtimeRef",
                          ref.kind + "." + ref.api_group,
                          "unsupported runtime: must be a ClusterTrainingRuntime or TrainingRuntime of "
                          "trainer.kubeflow.org",
                          {},
                          Rule::runtime_ref});
    else if (!runtime)
        errors.push_back(
            {FieldErrorType::invalid,
             "spec.runtimeRef",
             ref.name,
             ref.kind + " not found" +
                 (ref.kind == api::training_runtime_kind ? " in namespace \"" + job.meta.ns + "\"" : "") +
                 ": it must be created before the TrainJob" + question(meant, ref),
             {},
             Rule::runtime_exists});
}

void check(const ValidationContext& review, bool is_harmless, FieldErrors& found) {
    for (const auto* topic : checks)
        for (const Check& each : *topic) {
            if (!has_input(review, each.input) || !applies(each.reviews, review, is_harmless)) continue;
            const std::size_t before = found.size();
            each.add(review, found);
            name_rule(found, before, each.rule);
        }
}

void warn(const ValidationContext& review, bool is_harmless, api::Warnings& found) {
    for (const auto* topic : warnings)
        for (const Warner& each : *topic) {
            if (!has_input(review, each.input) || !applies(each.reviews, review, is_harmless)) continue;
            const std::size_t before = found.size();
            each.add(review, found);
            found.name_rule(before, each.rule);
        }
}

void add_warnings_of_plugins(const ValidationContext& review, api::Warnings& found) {
    // What is refused is not built.
    if (review.is_denied || !has_input(review, RuleInput::merged_template) || !is_reviewed_as_new(review))
        return;
    const ValidationInputs inputs = {.job = review.job,
                                     .runtime = review.runtime,
                                     .merged_spec = review.merged_spec,
                                     .plugins = review.plugins};
    for (const Plugin* plugin : review.plugins) {
        const std::size_t before = found.size();
        plugin->add_warnings(inputs, found);
        if (!plugin->warning_rules().empty()) found.name_rule(before, plugin->warning_rules().front());
    }
}

api::Result<> check_form(const TrainJobReview& review, const Json& spec, const Json& old_spec) {
    if (review.is_well_formed) return {};
    if (auto shape = check_train_job_shape(spec); !shape) return shape;
    return check_train_job_limits(spec, old_spec);
}

void add_error(Rule rule, const api::Error& error, FieldErrors& errors) {
    errors.push_back({FieldErrorType::invalid, error.field, {}, error.message, {}, rule});
}

}  // namespace

ReviewedJob::ReviewedJob(Json object)
    : exists(!object.is_null()), job(api::parse_train_job(std::move(object))) {}

std::vector<Need> review_needs(const Json& runtime, const Pipeline& pipeline) {
    std::vector<Need> needs;
    if (!check_runtime_shape(runtime, pipeline)) return needs;
    for (const Plugin* plugin : ActivePlugins(pipeline, runtime)) plugin->add_review_needs(runtime, needs);
    return needs;
}

ValidationResult validate_train_job(const TrainJobReview& review, const Pipeline& pipeline) {
    const api::TrainJob& job = review.object.job;
    const api::TrainJob* const old_job = review.old_object.exists ? &review.old_object.job : nullptr;
    ValidationResult result;
    if (old_job && is_harmless_update(job.meta.deletion.has_value(), job.spec, old_job->spec)) {
        const ActivePlugins plugins(pipeline, nothing);
        ValidationContext harmless_case = {.job = job,
                                           .old_job = old_job,
                                           .runtime = nothing,
                                           .merged_spec = nothing,
                                           .plugins = plugins,
                                           .gates = review.gates,
                                           .now = review.now};
        check(harmless_case, true, result.errors);
        harmless_case.is_denied = !result.errors.empty();
        warn(harmless_case, true, result.warnings);
        return result;
    }
    if (const auto form = check_form(review, job.spec, old_job ? old_job->spec : nothing); !form) {
        add_error(Rule::malformed, form.error(), result.errors);
        return result;
    }

    find_runtime(job, review.runtime, review.suggestion, result.errors);
    const Json* runtime = result.errors.empty() ? review.runtime : nullptr;
    const ExaminedRuntime* const examined = review.examined;
    if (runtime)
        if (const auto broken = examined ? examined->shape() : check_runtime_shape(*runtime, pipeline);
            !broken) {
            runtime = nullptr;
            result.errors.push_back({FieldErrorType::invalid,
                                     "spec.runtimeRef",
                                     job.runtime_ref.name,
                                     "the runtime is broken: " + describe(broken.error()),
                                     {},
                                     Rule::malformed});
        }
    const ActivePlugins plugins =
        runtime && examined ? examined->plugins() : ActivePlugins(pipeline, runtime ? *runtime : nothing);
    Json merged;
    if (runtime) {
        if (auto patched = merged_template(*runtime, job.spec, plugins))
            merged = std::move(patched->spec);
        else
            add_error(Rule::patches_merge, patched.error(), result.errors);
    }

    ValidationContext context = {.job = job,
                                 .old_job = old_job,
                                 .runtime = runtime ? *runtime : nothing,
                                 .merged_spec = merged,
                                 .plugins = plugins,
                                 .job_set = review.job_set,
                                 .gates = review.gates,
                                 .loss_by_new_job_set = review.loss_by_new_job_set,
                                 .now = review.now};
    check(context, false, result.errors);
    if (runtime)
        for (const Plugin* plugin : plugins) {
            const std::size_t before = result.errors.size();
            plugin->validate({.job = job,
                              .runtime = *runtime,
                              .merged_spec = merged,
                              .plugins = plugins,
                              .observed = review.observed,
                              .is_new = is_reviewed_as_new(context)},
                             result.errors);
            if (!plugin->rules().empty()) name_rule(result.errors, before, plugin->rules().front());
        }
    context.is_denied = !result.errors.empty();
    warn(context, false, result.warnings);
    add_warnings_of_plugins(context, result.warnings);
    return result;
}

}  // namespace runtime
