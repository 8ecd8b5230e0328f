#include "admission/review_case.hpp"
#include "api/names.hpp"
#include "claims.hpp"
#include "resources.hpp"

namespace runtime {
using api::FieldErrors;
using api::Json;

void claims_are_there(const ReviewCase& review, FieldErrors& errors) {
    const ClaimPlaces places(review.job.spec["runtimePatches"]);
    for (api::FieldError& fault : claim_faults(review.merged_spec)) {
        fault.field = places.find(fault.value.as_string());
        if (fault.field.empty()) fault.field = "spec.runtimeRef";
        errors.push_back(std::move(fault));
    }
    for (const Json& job : review.merged_spec["replicatedJobs"].items()) {
        if (!gets_resources_per_node(review.runtime["spec"]["mlPolicy"], job)) continue;
        for (api::FieldError& fault :
             claim_faults_of_trainer(job, review.job.spec["trainer"]["resourcesPerNode"]))
            errors.push_back(std::move(fault));
    }
}

}  // namespace runtime
