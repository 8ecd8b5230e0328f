#pragma once
#include <map>
#include <string>
#include <string_view>

#include "api/field_error.hpp"
#include "api/json.hpp"

namespace runtime {

/// `resource_claims`: a claim of a Pod that has no source or two, and a container's reference to a claim that
/// its Pod does not have. `job_set_spec` is a template's with patches and, where they are to be written,
/// `resourcesPerNode`; paths are below "spec.template.spec", as the API server would have them.
api::FieldErrors validate_claims(const api::Json& job_set_spec);

/// The same for claims of `spec.trainer.resourcesPerNode` that the container "node" of `job` is to get; paths
/// are those of the TrainJob.
api::FieldErrors claim_faults_of_trainer(const api::Json& job, const api::Json& per_node);

/// Where the patches of a TrainJob have a claim, or else a reference to one, so that a fault of the merged
/// template can be blamed on them. The last patch counts, and its first place. The patches must outlive it.
class ClaimPlaces {
public:
    explicit ClaimPlaces(const api::Json& patches);
    /// A path in the TrainJob; empty if no patch has the claim.
    std::string find(std::string_view claim) const;

private:
    static void add_pod(const api::Json& pod_spec, const std::string& path,
                        std::map<std::string_view, std::string>& places);

    std::map<std::string_view, std::string> places_ = {};
};

}  // namespace runtime
