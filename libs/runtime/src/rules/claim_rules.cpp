#include <algorithm>
#include <set>

#include "api/names.hpp"
#include "build/pod_sets.hpp"
#include "resources/claims.hpp"
#include "resources/resources.hpp"
#include "rules/validation_context.hpp"
#include "template/edit.hpp"
#include "template/replicated_jobs.hpp"

namespace runtime {
namespace {

using api::FieldErrors;
using api::Json;

void claims_are_there(const ValidationContext& review, FieldErrors& errors) {
    if (FieldErrors found = validate_claims(review.merged_spec); !found.empty()) {
        const ClaimPlaces places(review.job.spec["runtimePatches"]);
        for (api::FieldError& error : found) {
            error.field = places.find(error.value.as_string());
            if (error.field.empty()) error.field = "spec.runtimeRef";
        }
        errors.append(std::move(found));
    }
    Receivers receivers(review.plugins);
    for (const Json& job : review.merged_spec["replicatedJobs"].items())
        if (receivers.include(job))
            errors.append(claim_errors_of_trainer(job, review.job.spec["trainer"]["resourcesPerNode"]));
}

// Warns where the number of processes follows from devices that are not counted: a resource that is in no
// table, and claims, which only a build reads.
void warn_of_uncounted_devices(const ValidationContext& review, api::Warnings& warnings) {
    const Json& trainer = review.job.spec["trainer"];
    if (!review.plugins.depends_on_devices(trainer)) return;
    const auto counted = counted_resources(review.merged_spec, trainer["resourcesPerNode"]);
    if (!counted) return;
    const DeviceCount devices = devices_in(counted->resources, review.plugins.devices());
    if (devices.known) return;
    if (!devices.why.empty())
        warnings.push_back(devices.why +
                           (trainer["numProcPerNode"].is_null() ? ": set spec.trainer.numProcPerNode" : ""));
    else if (!review.plugins.says_processes(trainer) && !counted->resources["claims"].items().empty())
        warnings.push_back(
            "spec.trainer.numProcPerNode is unset and Pods use DRA claims; the process count may not match "
            "the devices");
}

const Json nothing;

std::set<std::string_view> used_claims(const Json& pod_spec, const Json& per_node) {
    std::set<std::string_view> used;
    const auto add = [&used](const Json& claims) {
        for (const Json& claim : claims.items()) used.insert(claim["name"].as_string());
    };
    add(per_node["claims"]);
    for (const char* list : {"initContainers", "containers"})
        for (const Json& container : pod_spec[list].items()) add(container["resources"]["claims"]);
    return used;
}

// Warns of the first claim of a job for which `is_meant` returns true.
void warn_of_claim(const Json& job, auto is_meant, auto text, api::Warnings& warnings) {
    const auto& claims = pod_spec_of(job)["resourceClaims"].items();
    const auto at = std::find_if(claims.begin(), claims.end(), is_meant);
    if (at != claims.end()) warnings.push_back(text(*at));
}

std::string quoted(const Json& name) { return "\"" + shortened(name.as_string()) + "\""; }

// Warns of claims that no container uses: the scheduler allocates their devices all the same.
void warn_of_unused_claims(const ValidationContext& review, api::Warnings& warnings) {
    Receivers receivers(review.plugins);
    for (const Json& job : review.merged_spec["replicatedJobs"].items()) {
        const bool takes = receivers.include(job);
        const Json& per_node = takes ? review.job.spec["trainer"]["resourcesPerNode"] : nothing;
        const auto used = used_claims(pod_spec_of(job), per_node);
        warn_of_claim(
            job, [&](const Json& claim) { return !used.contains(claim["name"].as_string()); },
            [&](const Json& claim) {
                return "no container of job " + quoted(job["name"]) + " uses the claim " +
                       quoted(claim["name"]) + " of its Pods";
            },
            warnings);
    }
}

void warn_of_shared_claims(const ValidationContext& review, api::Warnings& warnings) {
    const auto nodes = review.job.spec["trainer"]["numNodes"].as_int();
    const auto& jobs = review.merged_spec["replicatedJobs"].items();
    const auto meant = review.plugins.shared_claims();
    const auto is_meant = [&](const Json& claim) {
        return std::find(meant.begin(), meant.end(), claim["name"].as_string()) != meant.end();
    };
    for (const PodSet& pods : count_pods(review.merged_spec, review.plugins, nodes))
        if (pods.count > 1 || pods.replicas > 1)
            warn_of_claim(
                jobs[pods.index],
                [&](const Json& claim) {
                    return !claim["resourceClaimName"].as_string().empty() && !is_meant(claim);
                },
                [&](const Json& claim) {
                    return "all Pods of job " + quoted(jobs[pods.index]["name"]) +
                           " share one ResourceClaim, " + quoted(claim["resourceClaimName"]);
                },
                warnings);
}

constexpr Warner warners[] = {
    {Rule::uncounted_devices, warn_of_uncounted_devices, RuleInput::merged_template,
     AppliesTo::new_ones_or_new_patches},
    {Rule::unused_claims, warn_of_unused_claims, RuleInput::merged_template,
     AppliesTo::new_ones_or_new_patches},
    {Rule::shared_claims, warn_of_shared_claims, RuleInput::merged_template,
     AppliesTo::new_ones_or_new_patches},
};

constexpr Check checks[] = {
    {Rule::resource_claims, claims_are_there, RuleInput::merged_template},
};

}  // namespace

constinit const std::span<const Check> claim_checks = checks;
constinit const std::span<const Warner> claim_warnings = warners;

}  // namespace runtime
