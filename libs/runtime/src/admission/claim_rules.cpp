#include "admission/validation_context.hpp"
#include "api/names.hpp"
#include "resources/claims.hpp"
#include "resources/resources.hpp"

namespace runtime {
namespace {

using api::FieldErrors;
using api::Json;

void claims_are_there(const ValidationContext& review, FieldErrors& errors) {
    const ClaimPlaces places(review.job.spec["runtimePatches"]);
    FieldErrors faults = validate_claims(review.merged_spec);
    for (api::FieldError& fault : faults) {
        fault.field = places.find(fault.value.as_string());
        if (fault.field.empty()) fault.field = "spec.runtimeRef";
    }
    errors.append(std::move(faults));
    // The job that trains, and one of the framework's: of a runtime with more of them nothing is built.
    int receivers = 2;
    for (const Json& job : review.merged_spec["replicatedJobs"].items()) {
        if (!review.plugins.gets_resources_per_node(job)) continue;
        errors.append(claim_faults_of_trainer(job, review.job.spec["trainer"]["resourcesPerNode"]));
        if (--receivers == 0) break;
    }
}

constexpr Check checks[] = {
    {Rule::resource_claims, claims_are_there, Wants::merged_template},
};

}  // namespace

constinit const std::span<const Check> claim_checks = checks;

}  // namespace runtime
