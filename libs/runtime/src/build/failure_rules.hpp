#pragma once
#include <string_view>
#include <vector>

#include "api/field_error.hpp"
#include "api/json.hpp"
#include "api/train_job.hpp"
#include "template/forbidden_fields.hpp"

/// The failure policy of a runtime (`spec.runPolicy.failurePolicy`), and what its template says of failures.
namespace runtime {

/// Returns the policy; null if the runtime has none.
const api::Json& failure_policy_of(const api::Json& runtime);

/// Returns whether a Pod has the container, as an init container or another one.
bool has_container(const api::Json& pod_spec, std::string_view name);

/// Returns the fields of a runtime's `template.spec`, in order, that decide what a failure of a Pod means, so
/// that no failure policy can be beside them.
std::vector<TemplateField> failure_handling(const api::Json& job_set_spec);

/// Returns an error if the TrainJob has a failure policy, and the template of the runtime decides about
/// failures.
api::FieldErrors job_failure_policy_errors(const api::Json& runtime, const api::TrainJob& job);

}  // namespace runtime
