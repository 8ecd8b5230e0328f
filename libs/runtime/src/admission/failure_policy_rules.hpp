#pragma once
#include <string>
#include <vector>

#include "api/field_error.hpp"
#include "api/json.hpp"
#include "api/warnings.hpp"
#include "runtime/active_plugins.hpp"

/// What admission says of a runtime's failure policy. Of TrainJobs: failure_policy_checks and
/// failure_policy_warnings.
namespace runtime {

struct FailurePolicyFault {
    api::FieldError error;
    std::string job = {};   ///< the replicated job that it is of; empty: none
    std::string what = {};  ///< with `job`, what it is about wherever that stands in its list
};

/// Returns the errors: of fields of the template that the policy cannot be beside, and of rules from which no
/// Job could be made.
std::vector<FailurePolicyFault> faults_of_failure_policy(const api::Json& runtime,
                                                         const ActivePlugins& plugins);

/// Returns what the author of the policy may not expect.
std::vector<api::Warning> warnings_of_failure_policy(const api::Json& runtime);

}  // namespace runtime
