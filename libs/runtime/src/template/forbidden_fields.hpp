#pragma once
#include <string>
#include <vector>

#include "api/json.hpp"

namespace runtime {

/// A field inside a runtime's template.
struct TemplateField {
    std::string path = {};  ///< "spec.template.spec.replicatedJobs[0].template.spec.activeDeadlineSeconds"
    std::string job = {};   ///< its replicated job; empty: the JobSet's own
    std::string member = {};
    api::Json value = {};
};

/// Returns the deadlines and TTLs of a runtime's `template.spec`, in order, which would conflict with the
/// TrainJob's own. A Pod's own deadline is none of them: it limits one attempt.
std::vector<TemplateField> forbidden_fields(const api::Json& job_set_spec);

/// Removes them.
void strip_forbidden_fields(api::Json& job_set_spec);

}  // namespace runtime
