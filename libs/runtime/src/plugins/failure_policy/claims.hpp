#pragma once
#include <string>
#include <vector>

#include "api/field_error.hpp"
#include "api/json.hpp"
#include "api/object_key.hpp"
#include "runtime/build.hpp"

/// Volume claims under a failure policy. JobSet deletes a claim with its JobSet, unless its policy retains
/// it, and the next attempt is another JobSet. So the TrainJob owns such claims.
namespace runtime {

/// Adds the claims that take_claims() will return. `job_set_spec` may have any shape.
void add_claim_needs(const api::Json& job_set_spec, const api::ObjectKey& train_job, Needs& all);

/// Checks what JobSet checks of the templates of claims: names are labels of RFC 1123, each of them once;
/// containers mount them; and no volume of a Pod has such a name. `job_set_spec` may have any shape.
api::FieldErrors claim_template_errors(const api::Json& job_set_spec);

/// Takes the templates of claims that go with their JobSet out of its spec, and adds their volumes to the
/// Pods that mount them, as JobSet does. Returns the claims, without namespace and owner.
std::vector<api::Json> take_claims(api::Json& job_set_spec, const std::string& train_job);

}  // namespace runtime
