#include "admission/review_case.hpp"
#include "api/names.hpp"
#include "claims.hpp"
#include "edit.hpp"

namespace runtime {
namespace {

using api::FieldErrors;
using api::Json;

std::string item(std::string_view list, std::size_t index) {
    return "." + std::string(list) + "[" + std::to_string(index) + "]";
}

// Where in a patch's Pod a claim of this name is, or a reference to it; empty if nowhere.
std::string place_in_pod(const Json& pod_spec, std::string_view name) {
    const auto& claims = pod_spec["resourceClaims"].items();
    for (std::size_t i = 0; i < claims.size(); ++i)
        if (claims[i]["name"].as_string() == name) return item("resourceClaims", i);
    for (const std::string_view list : {"initContainers", "containers"}) {
        const auto& containers = pod_spec[list].items();
        for (std::size_t i = 0; i < containers.size(); ++i) {
            const auto& references = containers[i]["resources"]["claims"].items();
            for (std::size_t k = 0; k < references.size(); ++k)
                if (references[k]["name"].as_string() == name)
                    return item(list, i) + ".resources" + item("claims", k) + ".name";
        }
    }
    return {};
}

// A fault of the merged template is the last patch's that has the claim, or else the runtime's.
std::string place_of(const Json& patches, std::string_view claim) {
    for (std::size_t i = patches.items().size(); i-- > 0;) {
        const auto& jobs = patches[i]["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"].items();
        for (std::size_t j = 0; j < jobs.size(); ++j)
            if (const std::string place =
                    place_in_pod(jobs[j]["template"]["spec"]["template"]["spec"], claim);
                !place.empty())
                return "spec.runtimePatches[" + std::to_string(i) + "].trainingRuntimeSpec.template.spec" +
                       item("replicatedJobs", j) + ".template.spec.template.spec" + place;
    }
    return "spec.runtimeRef";
}

}  // namespace

void claims_are_there(const ReviewCase& review, FieldErrors& errors) {
    for (api::FieldError& fault : claim_faults(review.merged_spec)) {
        fault.field = place_of(review.job.spec["runtimePatches"], fault.value.as_string());
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
