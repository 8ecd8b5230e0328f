#include "api/names.hpp"
#include "rules/restore.hpp"
#include "rules/validation_context.hpp"

namespace runtime {
namespace {

using api::Json;

// Warns of fields that the client may have lost because it does not know them. What a client of
// --lossy-clients loses is back already: default_train_job() has restored it.
void warn_of_lost_fields(const ValidationContext& review, api::Warnings& warnings) {
    if (review.is_create()) return;
    const auto warn = [&warnings](const std::string& path, const std::vector<std::string>& lost) {
        for (const std::string& name : lost)
            warnings.push_back(path + " loses " + name +
                               ": if the client does not know that field, put it into --lossy-clients");
    };
    const Json& spec = review.job.spec;
    const Json& before = review.old_job->spec;
    warn("spec", unknown_fields_lost(rest_of_spec(before), rest_of_spec(spec), rest_of_spec_type()));
    if (spec["trainer"].is_object() && before["trainer"].is_object())
        warn("spec.trainer", unknown_fields_lost(before["trainer"], spec["trainer"], trainer_type()));
    const auto& patches = spec["runtimePatches"].items();
    for (std::size_t i = 0; i < patches.size(); ++i) {
        if (patches[i]["manager"].as_string() == api::kueue_manager) continue;
        for (const Json& old : before["runtimePatches"].items())
            if (old["manager"] == patches[i]["manager"])
                warn("spec.runtimePatches[" + std::to_string(i) + "]",
                     unknown_fields_lost(old["trainingRuntimeSpec"], patches[i]["trainingRuntimeSpec"],
                                         patch_type()));
    }
}

constexpr Warner warnings_of_lost_fields[] = {
    {Rule::lost_fields, warn_of_lost_fields, RuleInput::job, AppliesTo::every_update},
};

}  // namespace

constinit const std::span<const Warner> lost_field_warnings = warnings_of_lost_fields;

}  // namespace runtime
