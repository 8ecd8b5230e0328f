#pragma once
#include <map>
#include <string>
#include <string_view>

#include "api/field_error.hpp"
#include "api/json.hpp"

namespace runtime {

/// Adds errors of the rule `resource_claims`: a claim of a Pod with no source or two, or with the name of an
/// earlier one, and a container's reference to a claim that its Pod lacks. `job_set_spec` is a template's
/// with patches and, if they are written, `resourcesPerNode`; paths are below "spec.template.spec", as in the
/// API server.
api::FieldErrors validate_claims(const api::Json& job_set_spec);

/// Adds the same errors for claims of `spec.trainer.resourcesPerNode` that the container "node" of `job`
/// gets; paths are those of the TrainJob.
api::FieldErrors claim_errors_of_trainer(const api::Json& job, const api::Json& per_node);

/// Finds the patch of a TrainJob that has a claim, or else a reference to one, so that the error of a merged
/// template can name it. The last patch counts, and its first place. The patches must outlive it.
class ClaimPlaces {
public:
    explicit ClaimPlaces(const api::Json& patches);
    /// Returns a path in the TrainJob; empty if no patch has the claim.
    std::string find(std::string_view claim) const;

private:
    static void add_pod(const api::Json& pod_spec, const std::string& path,
                        std::map<std::string_view, std::string>& places);

    std::map<std::string_view, std::string> places_ = {};
};

}  // namespace runtime
