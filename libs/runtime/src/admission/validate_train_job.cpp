#include <span>

#include "admission/validation_context.hpp"
#include "api/names.hpp"
#include "api/train_job_reader.hpp"
#include "runtime/plugin.hpp"
#include "template/limits.hpp"
#include "template/shape.hpp"

namespace runtime {
namespace {

using api::FieldErrors;
using api::FieldErrorType;
using api::Json;

const Json nothing;

// It holds where no other rule is asked as well.
constexpr std::string_view immutable_deadline = "deadline_immutable";

// What a rule looks at besides the TrainJob itself.
enum class Wants { job, runtime, merged_template };

struct RuleRow {
    std::string_view name;  // of errors that say no other
    Rule rule;
    Wants wants;
};

// In the order in which errors are reported.
constexpr RuleRow rules[] = {
    {"name_length", names_fit, Wants::merged_template},
    {"dataset_initializer", initializers_have_jobs, Wants::merged_template},
    {"patch_targets", patches_name_what_exists, Wants::runtime},
    {"patch_manager", managers_are_paths, Wants::job},
    {"patch_while_active", patches_wait_for_pods, Wants::job},
    {immutable_deadline, deadline_is_immutable, Wants::job},
    {"resource_claims", claims_are_there, Wants::merged_template},
};

struct WarningRow {
    std::string_view name;
    Warn warn;
    Wants wants;
};

constexpr WarningRow warnings[] = {
    {"deprecated_runtime_used", warn_of_deprecated_runtime, Wants::runtime},
    {"uncounted_devices", warn_of_uncounted_devices, Wants::merged_template},
    {"ignored_time_limits", warn_of_ignored_fields, Wants::runtime},
    {"resources_without_policy", warn_of_resources_without_policy, Wants::runtime},
    {"shared_subdomain", warn_of_shared_subdomain, Wants::runtime},
    {"kueue_counts_differ", warn_of_other_counts, Wants::merged_template},
    {"kueue_cannot_build", warn_of_what_kueue_cannot_build, Wants::runtime},
    {"lost_fields", warn_of_lost_fields, Wants::job},
};

// Of an update that has to pass, these are the only ones that can have become true.
constexpr WarningRow warnings_of_queues[] = {
    {"kueue_counts_differ", warn_of_other_counts, Wants::merged_template},
    {"kueue_cannot_build", warn_of_what_kueue_cannot_build, Wants::runtime},
};

bool has_what_it_wants(const ValidationContext& review, Wants wants) {
    return wants == Wants::job || (wants == Wants::runtime && !review.runtime.is_null()) ||
           (wants == Wants::merged_template && !review.merged_spec.is_null());
}

// `runtime_ref`, `runtime_exists`: an error if there is no runtime to go on with.
void find_runtime(const api::TrainJob& job, const Json* runtime, FieldErrors& errors) {
    const api::RuntimeRef& ref = job.runtime_ref;
    if (!is_supported(ref))
        errors.push_back({FieldErrorType::invalid,
                          "spec.runtimeRef",
                          ref.kind + "." + ref.api_group,
                          "unsupported runtime: must be a ClusterTrainingRuntime or TrainingRuntime of "
                          "trainer.kubeflow.org",
                          {},
                          "runtime_ref"});
    else if (!runtime)
        errors.push_back(
            {FieldErrorType::invalid,
             "spec.runtimeRef",
             ref.name,
             ref.kind + " not found" +
                 (ref.kind == api::training_runtime_kind ? " in namespace \"" + job.meta.ns + "\"" : "") +
                 ": it must be created before the TrainJob",
             {},
             "runtime_exists"});
}

void warn(std::span<const WarningRow> rows, const ValidationContext& review, api::Warnings& found) {
    for (const WarningRow& row : rows) {
        const std::size_t before = found.size();
        if (has_what_it_wants(review, row.wants)) row.warn(review, found);
        found.name_rule(before, row.name);
    }
}

void warn_of_queues(const api::TrainJob& job, const api::TrainJob& old_job, const Json& runtime,
                    KueueTypes kueue_types, api::Warnings& found) {
    if (!check_train_job_shape(job.spec) || !check_runtime_shape(runtime)) return;
    auto patched = patched_template(runtime, job.spec);
    const Json merged = patched ? std::move(patched->spec) : Json();
    const ValidationContext facts = {.job = job,
                                     .old_job = &old_job,
                                     .runtime = runtime,
                                     .merged_spec = merged,
                                     .kueue_types = kueue_types};
    warn(warnings_of_queues, facts, found);
}

void add_error(std::string_view rule, const api::Error& error, FieldErrors& errors) {
    errors.push_back({FieldErrorType::invalid, error.field, {}, error.message, {}, rule});
}

}  // namespace

std::vector<Need> review_needs(const Json& runtime, const Pipeline& pipeline) {
    std::vector<Need> needs;
    if (!check_runtime_shape(runtime)) return needs;
    for (const auto& plugin : pipeline) plugin->add_review_needs(runtime, needs);
    return needs;
}

Findings validate_train_job(TrainJobReview review, const Pipeline& pipeline) {
    const bool harmless = is_harmless_update(review.object, review.old_object);
    const api::TrainJob job = api::take_train_job(std::move(review.object));
    std::optional<api::TrainJob> old_job;
    if (!review.old_object.is_null()) old_job = api::take_train_job(std::move(review.old_object));
    Findings findings;
    if (harmless) {
        deadline_is_immutable({job, &*old_job, nothing, nothing}, findings.errors);
        name_rule(findings.errors, 0, immutable_deadline);
        if (review.runtime)
            warn_of_queues(job, *old_job, *review.runtime, review.kueue_types, findings.warnings);
        return findings;
    }
    auto shape = check_train_job_shape(job.spec);
    if (shape) shape = check_train_job_limits(job.spec, old_job ? old_job->spec : nothing);
    if (!shape) {
        add_error(shape_rule, shape.error(), findings.errors);
        return findings;
    }

    find_runtime(job, review.runtime, findings.errors);
    const Json* runtime = findings.errors.empty() ? review.runtime : nullptr;
    Json merged;
    if (runtime) {
        if (const auto broken = check_runtime_shape(*runtime); !broken) {
            runtime = nullptr;
            findings.errors.push_back({FieldErrorType::invalid,
                                       "spec.runtimeRef",
                                       job.runtime_ref.name,
                                       "the runtime is broken: " + describe(broken.error()),
                                       {},
                                       shape_rule});
        } else if (auto patched = patched_template(*runtime, job.spec)) {
            merged = std::move(patched->spec);
        } else {
            add_error("patches_merge", patched.error(), findings.errors);
        }
    }

    const ValidationContext facts = {.job = job,
                                     .old_job = old_job ? &*old_job : nullptr,
                                     .runtime = runtime ? *runtime : nothing,
                                     .merged_spec = merged,
                                     .job_set = review.job_set,
                                     .kueue_types = review.kueue_types};
    for (const RuleRow& row : rules) {
        const std::size_t before = findings.errors.size();
        if (has_what_it_wants(facts, row.wants)) row.rule(facts, findings.errors);
        name_rule(findings.errors, before, row.name);
    }
    if (runtime)
        for (const auto& plugin : pipeline) {
            const std::size_t before = findings.errors.size();
            plugin->validate(
                {.job = job, .runtime = *runtime, .merged_spec = merged, .observed = review.observed},
                findings.errors);
            name_rule(findings.errors, before, plugin->rule());
        }
    warn(warnings, facts, findings.warnings);
    return findings;
}

}  // namespace runtime
