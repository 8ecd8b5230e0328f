#pragma once
#include <string>
#include <vector>

#include "api/json.hpp"

namespace runtime {

/// A deadline or TTL inside a runtime's template, which would work against the TrainJob's own.
struct ForbiddenField {
    std::string path = {};  ///< "spec.template.spec.replicatedJobs[0].template.spec.activeDeadlineSeconds"
    std::string job = {};   ///< the replicated job that it is in; empty: the JobSet's own
    std::string member = {};
    api::Json value = {};
};

/// Those that a runtime's `template.spec` has, in order. A Pod's own deadline is none of them: it bounds one
/// attempt.
std::vector<ForbiddenField> forbidden_fields(const api::Json& job_set_spec);

/// Takes them out.
void strip_forbidden_fields(api::Json& job_set_spec);

}  // namespace runtime
