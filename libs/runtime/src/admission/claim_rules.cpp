#include "admission/review_case.hpp"
#include "api/names.hpp"
#include "claims.hpp"

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
    if (!review.runtime["spec"]["mlPolicy"].is_object()) return;
    for (const Json& job : review.merged_spec["replicatedJobs"].items()) {
        const Json& labels = job["template"]["metadata"]["labels"];
        if (labels[api::ancestor_label].as_string() != api::ancestor_trainer) continue;
        for (api::FieldError& fault :
             claim_faults_of_trainer(job, review.job.spec["trainer"]["resourcesPerNode"]))
            errors.push_back(std::move(fault));
    }
}

}  // namespace runtime
