// The rules of `spec.trainer`: the runtime has a job that takes each field, and Pods can have the image and
// the resources.
#include <algorithm>

#include "api/quantity.hpp"
#include "build/number_rules.hpp"
#include "build/pod_sets.hpp"
#include "build/taken_fields.hpp"
#include "build/trainer_errors.hpp"
#include "rules/validation_context.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::Json;

// Returns the fields of `spec.trainer` that are set, but not taken; initializers have rules of their own.
std::vector<const TakenField*> without_job(const ValidationContext& review, WithoutJob consequence) {
    auto fields =
        fields_without_job(review.job.spec, review.runtime["spec"]["template"]["spec"], review.plugins);
    std::erase_if(fields, [&](const TakenField* field) {
        return field->without_job != consequence || !field->path.starts_with("trainer.");
    });
    return fields;
}

void images_are_there(const ValidationContext& review, api::FieldErrors& errors) {
    errors.append(image_errors(review.runtime, review.job, review.plugins));
}

void trainer_is_taken(const ValidationContext& review, api::FieldErrors& errors) {
    for (const TakenField* field : without_job(review, WithoutJob::denies))
        errors.push_back({api::FieldErrorType::forbidden,
                          "spec." + std::string(field->path),
                          {},
                          "the runtime has no job for it",
                          {}});
}

// Reviews the runtime, which may be older than the schema's minima. What it says wrongly is an error of the
// reference to it. The schema has reviewed the TrainJob's own numbers.
void numbers_have_bounds(const ValidationContext& review, api::FieldErrors& errors) {
    const Json& trainer = review.job.spec["trainer"];
    for (const api::FieldError& error : number_errors_of_runtime(review.runtime, review.plugins, trainer))
        errors.push_back({error.type,
                          "spec.runtimeRef",
                          review.job.runtime_ref.name,
                          "its " + error.field + " is " + to_json(error.value) + ", and " + error.detail,
                          {}});
}

void resources_are_usable(const ValidationContext& review, api::FieldErrors& errors) {
    errors.append(unusable_resources(review.runtime, review.job, review.plugins));
}

void limits_cover_requests(const ValidationContext& review, api::FieldErrors& errors) {
    errors.append(limit_errors(review.runtime, review.job, review.plugins));
}

void warn_of_empty_image(const ValidationContext& review, api::Warnings& warnings) {
    if (review.job.spec["trainer"]["image"] == "")
        warnings.push_back("spec.trainer.image is empty and counts as unset: the runtime's image is used");
}

// Warns of numbers that no job takes. For `resourcesPerNode` without an mlPolicy, resources_without_policy
// warns.
void warn_of_unused_numbers(const ValidationContext& review, api::Warnings& warnings) {
    for (const TakenField* field : without_job(review, WithoutJob::warns)) {
        if (field->path == "trainer.resourcesPerNode" && !review.plugins.ml_policy().is_object()) continue;
        warnings.push_back("spec." + std::string(field->path) +
                           " has no effect: nothing in the runtime takes it");
    }
}

// Warns of a TrainJob without nodes, since JobSet takes Jobs without Pods for completed ones. A 0 in the
// runtime counts as 1, and a framework may refuse a 0.
void warn_of_no_nodes(const ValidationContext& review, api::Warnings& warnings) {
    const Json& nodes = review.job.spec["trainer"]["numNodes"];
    if (nodes != Json(0) || review.is_denied) return;
    const auto pod_sets = count_pods(review.runtime["spec"]["template"]["spec"], review.plugins, 0);
    const auto trains = [&](const PodSet& pods) { return review.plugins.trains(pods); };
    const auto has_pods = [&](const PodSet& pods) { return trains(pods) && pods.count > 0; };
    if (std::any_of(pod_sets.begin(), pod_sets.end(), trains) &&
        std::none_of(pod_sets.begin(), pod_sets.end(), has_pods))
        warnings.push_back("spec.trainer.numNodes is 0: no Pod trains, and the TrainJob ends as Complete");
}

// Returns the text that is probably meant; empty if unknown. 512m is half a byte and not 512 MiB, and 16 is
// 16 bytes and not 16 GiB.
std::string meant_memory(std::string_view text) {
    const bool has_digits_only = text.find_first_not_of("0123456789") == text.npos;
    if (has_digits_only) return std::string(text) + "Gi";
    if (text.find_first_not_of("0123456789") == text.size() - 1 && text.ends_with('m'))
        return std::string(text.substr(0, text.size() - 1)) + "Mi";
    return "";
}

void warn_of_small_memory(const ValidationContext& review, api::Warnings& warnings) {
    static const api::Quantity mebibyte = 1024 * 1024 * api::parse_quantity("1").value();
    const Json& per_node = review.job.spec["trainer"]["resourcesPerNode"];
    for (const char* list : {"limits", "requests"})
        for (const char* name : {"memory", "ephemeral-storage"}) {
            const Json& value = per_node[list][name];
            const auto quantity = api::parse_quantity(value);
            if (!quantity || quantity->is_zero() || *quantity >= mebibyte) continue;
            const std::string text =
                value.is_string() ? std::string(value.as_string()) : to_string(*quantity);
            const std::string meant = meant_memory(text);
            warnings.push_back("spec.trainer.resourcesPerNode." + std::string(list) + "[" + name + "] is " +
                               shortened(text) + ", less than 1Mi" +
                               (meant.empty() ? "" : "; did you mean " + shortened(meant) + "?"));
        }
}

constexpr Check checks[] = {
    {Rule::image, images_are_there, RuleInput::runtime, AppliesTo::new_ones},
    {Rule::trainer_job, trainer_is_taken, RuleInput::runtime, AppliesTo::new_ones},
    {Rule::number_bounds, numbers_have_bounds, RuleInput::runtime, AppliesTo::new_ones},
    {Rule::resources, resources_are_usable, RuleInput::runtime, AppliesTo::new_ones},
    {Rule::limits_cover_requests, limits_cover_requests, RuleInput::runtime, AppliesTo::new_ones},
};

constexpr Warner warnings_of_trainer[] = {
    {Rule::empty_image, warn_of_empty_image, RuleInput::job, AppliesTo::new_ones},
    {Rule::unused_numbers, warn_of_unused_numbers, RuleInput::runtime, AppliesTo::new_ones},
    {Rule::no_nodes, warn_of_no_nodes, RuleInput::runtime, AppliesTo::new_ones_or_new_nodes},
    {Rule::small_memory, warn_of_small_memory, RuleInput::job, AppliesTo::new_ones},
};

}  // namespace

constinit const std::span<const Check> trainer_checks = checks;
constinit const std::span<const Warner> trainer_warnings = warnings_of_trainer;

}  // namespace runtime
