#include "review_rules.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include "merge/json_patch.hpp"
#include "random_observed.hpp"
#include "runtime/validation.hpp"

namespace {

using api::Json;
using runtime::ValidationResult;

std::string check_findings(const ValidationResult& findings) {
    for (const api::FieldError& error : findings.errors) {
        if (!is_path(error.field))
            return "an admission error without a path: " + error.field + ": " + error.detail;
        if (error.rule.empty()) return "an admission error of no rule: " + error.field + ": " + error.detail;
    }
    for (const api::Warning& warning : findings.warnings)
        if (warning.text.empty() || warning.rule.empty()) return "a warning without a word, or of no rule";
    return {};
}

// Returns an error that an update has and a create of the same object has not.
std::string check_update(const ValidationResult& created, const ValidationResult& updated) {
    if (created.errors.more() > 0) return {};  // the error may be one of those that are only counted
    for (const api::FieldError& error : updated.errors)
        if (std::find(created.errors.begin(), created.errors.end(), error) == created.errors.end())
            return "an update breaks a rule that the object itself keeps: " + error.field + ": " +
                   error.detail;
    return {};
}

std::string check_runtime(const Input& input, const runtime::Pipeline& pipeline, bool& admitted) {
    const ValidationResult created = runtime::validate_runtime(input.runtime, Json(), pipeline);
    const ValidationResult updated = runtime::validate_runtime(input.runtime, input.older_runtime, pipeline);
    for (const ValidationResult* findings : {&created, &updated})
        if (auto broken = check_findings(*findings); !broken.empty()) return broken;
    if (auto broken = check_update(created, updated); !broken.empty()) return broken;
    if (const ValidationResult unchanged = runtime::validate_runtime(input.runtime, input.runtime, pipeline);
        !unchanged.errors.empty()) {
        const api::FieldError& error = *unchanged.errors.begin();
        return "a runtime cannot stay what it is: " + error.field + ": " + error.detail;
    }
    admitted = created.errors.empty();
    return {};
}

// Checks the time stamps of patches, on CREATE or UPDATE.
std::string check_stamps(Json object, const Json& older) {
    constexpr api::Time now = {};
    const auto operations = runtime::default_train_job(object, older, now).operations;
    if (!merge::apply_operations(operations, object))
        return "an operation of the mutating webhook does not fit";
    if (!runtime::default_train_job(object, older, now).operations.empty())
        return "the mutating webhook never comes to rest";
    return {};
}

std::optional<api::JobSet> some_job_set(SchemaValues& values) {
    if (values.maybe(40)) return std::nullopt;
    api::JobSet job_set;
    job_set.suspend = values.maybe(50);
    job_set.meta.controller_uid = values.maybe(80) ? "u" : "of-another";
    if (values.maybe(50)) job_set.replicated_jobs.push_back({.name = "node", .active = values.maybe(50)});
    return job_set;
}

std::string check_job(const Input& input, const runtime::Pipeline& pipeline, SchemaValues& values,
                      bool& admitted) {
    std::vector<Json> observed;
    for (const runtime::Need& need : runtime::review_needs(input.runtime, pipeline))
        add_all(observed, make_observed(values, need));
    const auto* shown = values.maybe(80) ? &observed : nullptr;
    const auto job_set = some_job_set(values);
    const auto review = [&](const Json& older, const Json* runtime) {
        const auto wanted = runtime::lookups_for(input.job, older);
        return runtime::validate_train_job({.object = input.job,
                                            .old_object = older,
                                            .runtime = wanted.runtime ? runtime : nullptr,
                                            .job_set = wanted.job_set && job_set ? &*job_set : nullptr,
                                            .observed = shown},
                                           pipeline);
    };
    const ValidationResult created = review(Json(), &input.runtime);
    const ValidationResult updated = review(input.older_job, &input.runtime);
    const ValidationResult orphaned = review(input.older_job, nullptr);
    for (const ValidationResult* findings : {&created, &updated, &orphaned})
        if (auto broken = check_findings(*findings); !broken.empty()) return broken;
    if (!review(input.job, nullptr).errors.empty()) return "a TrainJob cannot stay what it is";
    for (const Json* older : {&input.older_job, &input.job})
        if (auto broken = check_stamps(input.job, *older); !broken.empty()) return broken;
    admitted = created.errors.empty() && shown;
    return check_stamps(input.job, Json());
}

}  // namespace

bool is_path(std::string_view field) {
    return field.starts_with("spec") || field.starts_with("metadata") || field.starts_with("data[");
}

void add_all(std::vector<Json>& observed, std::vector<Json> more) {
    observed.insert(observed.end(), std::make_move_iterator(more.begin()),
                    std::make_move_iterator(more.end()));
}

std::string broken_review_rule(const Input& input, const runtime::Pipeline& pipeline, SchemaValues& values,
                               bool& admitted) {
    bool admitted_runtime = false;
    if (auto broken = check_job(input, pipeline, values, admitted); !broken.empty()) return broken;
    auto broken = check_runtime(input, pipeline, admitted_runtime);
    admitted = admitted && admitted_runtime;
    return broken;
}
