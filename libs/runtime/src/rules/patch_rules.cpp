#include <algorithm>

#include "api/dns_label.hpp"
#include "api/text.hpp"
#include "rules/validation_context.hpp"
#include "template/template.hpp"

namespace runtime {
namespace {

using api::FieldErrors;
using api::FieldErrorType;
using api::Json;

constexpr std::string_view path_punctuation = "/-._~%!$&'()*+,;=:";

bool is_path(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return api::is_letter_or_digit(c) || path_punctuation.find(c) != path_punctuation.npos;
    });
}

void patches_name_what_exists(const ValidationContext& review, FieldErrors& errors) {
    errors.append(check_patches(review.runtime, review.job.spec, review.plugins, PatchCheck::admission));
}

void managers_are_paths(const ValidationContext& review, FieldErrors& errors) {
    const auto refuse = [&errors](const std::string& path, std::string_view value, std::string rule) {
        errors.push_back({FieldErrorType::invalid, path, value, std::move(rule), {}});
    };
    const auto& patches = review.job.spec["runtimePatches"].items();
    for (std::size_t i = 0; i < patches.size(); ++i) {
        const std::string_view manager = patches[i]["manager"].as_string();
        const std::string path = "spec.runtimePatches[" + std::to_string(i) + "].manager";
        const auto slash = manager.find('/');
        if (manager.empty())
            errors.push_back(
                {FieldErrorType::required, path, {}, "who patches, such as \"acme.io/team\"", {}});
        else if (slash == 0 || slash == manager.npos || slash + 1 == manager.size())
            refuse(path, manager, "must be a domain-prefixed path, such as \"acme.io/team\"");
        else {
            if (const auto domain = manager.substr(0, slash); !api::is_dns_subdomain(domain))
                refuse(path, domain,
                       "what precedes the slash must be a domain of lower-case letters, digits, '-' and '.': "
                       "a domain-prefixed path is such as \"acme.io/team\"");
            if (const auto rest = manager.substr(slash + 1); !is_path(rest))
                refuse(path, rest,
                       "what follows the slash must consist of letters, digits and " +
                           std::string(path_punctuation));
        }
    }
}

void patches_wait_for_pods(const ValidationContext& review, FieldErrors& errors) {
    // A change of what runs is an error of immutable_after_creation, suspended or not; one error is enough.
    if (!review.patches_changed() || review.fixed_patches_changed()) return;
    const auto forbid = [&errors](std::string why) {
        errors.push_back({FieldErrorType::forbidden, "spec.runtimePatches", {}, std::move(why), {}});
    };
    if (!review.job.suspend && !review.old_job->suspend)
        return forbid("can only be changed while the TrainJob is suspended");
    if (!review.job_set || !review.job_set->belongs_to(review.job)) return;
    for (const api::JobStatus& job : review.job_set->replicated_jobs)
        if (job.active > 0)
            return forbid("cannot be changed while job \"" + job.name + "\" still has active Pods");
}

constexpr Check checks[] = {
    {Rule::patch_targets, patches_name_what_exists, RuleInput::runtime},
    {Rule::patch_manager, managers_are_paths, RuleInput::job},
    {Rule::patch_while_active, patches_wait_for_pods, RuleInput::job, AppliesTo::changes},
};

}  // namespace

constinit const std::span<const Check> patch_checks = checks;

}  // namespace runtime
