#include "rules/runtime_rules.hpp"

#include <span>
#include <string>

#include "rules/validation_context.hpp"
#include "runtime/compare.hpp"
#include "template/member_at.hpp"

namespace runtime {
namespace {

using api::Json;

// A field that needs a gate; `path` is below `spec`. Gate::edits is for changes of any field: see
// edit_rules.cpp.
struct GatedField {
    Gate gate;
    std::string_view path;
};

constexpr GatedField of_train_jobs[] = {
    {Gate::run_policy, "ttlSecondsAfterFinished"},
    {Gate::failure_policy, "failurePolicy"},
    {Gate::resource_claims, "trainer.resourceClaimsPerNode"},
};

constexpr GatedField of_runtimes[] = {
    {Gate::run_policy, "runPolicy.ttlSecondsAfterFinished"},
    {Gate::run_policy, "runPolicy.maxTtlSecondsAfterFinished"},
    {Gate::run_policy, "runPolicy.ttlAppliesTo"},
    {Gate::run_policy, "runPolicy.activeDeadlineSeconds"},
    {Gate::run_policy, "runPolicy.maxActiveDeadlineSeconds"},
    {Gate::run_policy, "runPolicy.gracePeriodSeconds"},
    {Gate::run_policy, "runPolicy.disruptionBudget"},
    {Gate::failure_policy, "runPolicy.failurePolicy"},
};

api::FieldErrors behind_gates(std::span<const GatedField> fields, const Json& spec, const Json& old_spec,
                              const Gates& gates, Rule rule) {
    api::FieldErrors errors;
    for (const auto& [gate, path] : fields) {
        const Json& value = member_at(spec, path);
        if (gates.has(gate) || value.is_null() || is_equivalent(value, member_at(old_spec, path))) continue;
        errors.push_back(
            {api::FieldErrorType::forbidden, "spec." + std::string(path), {}, needs_text(gate), {}, rule});
    }
    return errors;
}

void gates_are_on(const ValidationContext& review, api::FieldErrors& errors) {
    const Json nothing;
    errors.append(behind_gates(of_train_jobs, review.job.spec,
                               review.is_create() ? nothing : review.old_job->spec, review.gates,
                               Rule::gated_field));
}

constexpr Check checks[] = {
    {Rule::gated_field, gates_are_on, RuleInput::job, AppliesTo::every_update},
};

}  // namespace

constinit const std::span<const Check> gate_checks = checks;

api::FieldErrors gated_runtime_fields(const Json& spec, const Json& old_spec, const Gates& gates) {
    return behind_gates(of_runtimes, spec, old_spec, gates, Rule::runtime_gated_field);
}

}  // namespace runtime
