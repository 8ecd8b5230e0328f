#pragma once
#include <set>
#include <string>
#include <vector>

#include "api/field_error.hpp"
#include "api/json.hpp"
#include "api/warnings.hpp"
#include "runtime/active_plugins.hpp"
#include "runtime/gates.hpp"
#include "runtime/info.hpp"

/// The rules of runtimes that have a source of their own; validate_runtime.cpp calls them.
namespace runtime {

/// An error of a runtime with the key by which it is found again in another state of the runtime. Positions
/// in lists are not part of the key.
struct KeyedError {
    api::FieldError error;
    std::string job = {};   ///< the name of its replicated job; empty: none
    std::string what = {};  ///< the member or the rule that it is about
};

/// Returns the errors of a runtime's failure policy: fields of the template that the policy cannot be beside,
/// and rules from which no Job could be made. The rules of TrainJobs are failure_policy_checks and
/// failure_policy_warnings.
std::vector<KeyedError> runtime_failure_policy_errors(const api::Json& runtime, const ActivePlugins& plugins);

/// Returns what the author of the policy may not expect.
std::vector<api::Warning> warnings_of_failure_policy(const api::Json& runtime);

/// Returns an error for each field of a runtime's `spec` that is new or has another value than in `old_spec`
/// (null on CREATE), although its gate is off. Fields that are stored may stay, and may be removed.
api::FieldErrors gated_runtime_fields(const api::Json& spec, const api::Json& old_spec, const Gates& gates);

/// Returns a warning for each job whose Pods have their node's network, and could not find each other or keep
/// a port that one job of a node can have.
std::set<std::string> host_network_warnings(const api::Json& runtime, const ActivePlugins& plugins);

/// Returns how many characters the name of a TrainJob may have so that the names of one replicated job's Pods
/// are valid. Less than one: no name is short enough.
std::int64_t longest_name_for(const api::Json& job, const PodSet& pods);

}  // namespace runtime
