#include "admission/validation_context.hpp"
#include "api/names.hpp"
#include "template/forbidden_fields.hpp"

namespace runtime {
namespace {

using api::Json;

constexpr std::string_view deprecation_policy =
    "https://www.kubeflow.org/docs/components/trainer/operator-guides/runtime/#runtime-deprecation-policy";

// Of Pods that train: MPI's are those of the job called "node", whatever its label.
bool trains(const Json& job, const Json& runtime) {
    if (job["template"]["metadata"]["labels"][api::ancestor_label].as_string() == api::ancestor_trainer)
        return true;
    return runtime["spec"]["mlPolicy"]["mpi"].is_object() && job["name"].as_string() == api::node_container;
}

// Names may be long and warnings must not be; the beginning says enough.
std::string shortened(std::string_view name) {
    constexpr std::size_t enough = 63;
    return name.size() <= enough ? std::string(name) : std::string(name.substr(0, enough - 3)) + "...";
}

}  // namespace

bool is_deprecated(const Json& runtime) {
    return runtime["metadata"]["labels"][api::support_label].as_string() == "deprecated";
}

std::string deprecation_warning(std::string_view kind, std::string_view name) {
    return std::string(kind) + " \"" + shortened(name) + "\" is deprecated: see " +
           std::string(deprecation_policy);
}

void warn_of_deprecated_runtime(const ValidationContext& review, api::Warnings& warnings) {
    if (review.is_create() && is_deprecated(review.runtime))
        warnings.push_back(deprecation_warning(review.job.runtime_ref.kind, review.job.runtime_ref.name));
}

void warn_of_uncounted_devices(const ValidationContext& review, api::Warnings& warnings) {
    if (!review.is_create() && !review.patches_changed()) return;
    if (!review.job.spec["trainer"]["numProcPerNode"].is_null()) return;
    for (const Json& job : review.merged_spec["replicatedJobs"].items())
        if (trains(job, review.runtime) &&
            !job["template"]["spec"]["template"]["spec"]["resourceClaims"].empty()) {
            warnings.push_back(
                "spec.trainer.numProcPerNode is unset and Pods use DRA claims; the process count may "
                "not match the devices");
            return;
        }
}

void warn_of_ignored_fields(const ValidationContext& review, api::Warnings& warnings) {
    if (!review.is_create() || forbidden_fields(review.runtime["spec"]["template"]["spec"]).empty()) return;
    warnings.push_back("a deadline or TTL in the template of runtime \"" +
                       shortened(review.job.runtime_ref.name).substr(0, 40) + "\" is ignored");
}

std::string shared_subdomain(const Json& runtime) {
    const Json& network = runtime["spec"]["template"]["spec"]["network"];
    return network["enableDNSHostnames"].bool_or(true) ? std::string(network["subdomain"].as_string())
                                                       : std::string();
}

std::string subdomain_warning(std::string_view where) {
    return std::string(where) +
           ": TrainJobs share the first one's Service, which finds its Pods only; leave it out";
}

void warn_of_shared_subdomain(const ValidationContext& review, api::Warnings& warnings) {
    if (review.is_create() && !shared_subdomain(review.runtime).empty())
        warnings.push_back(subdomain_warning("the runtime has a network.subdomain"));
}

void warn_of_resources_without_policy(const ValidationContext& review, api::Warnings& warnings) {
    if (review.is_create() && !review.job.spec["trainer"]["resourcesPerNode"].empty() &&
        !review.runtime["spec"]["mlPolicy"].is_object())
        warnings.push_back("spec.trainer.resourcesPerNode has no effect: the runtime has no mlPolicy");
}

}  // namespace runtime
