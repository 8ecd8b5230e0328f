#pragma once
#include "api/field_error.hpp"
#include "api/json.hpp"

namespace runtime {

/// What a check of patches is for.
enum class PatchCheck {
    admission,  ///< all rules
    build       ///< only those without which broken objects would be built
};

/// What `spec.runtimePatches` of a TrainJob must not do to a runtime's template (shapes checked): name jobs
/// and containers that the runtime itself lacks, or set keys that mean something to us; at admission also
/// keys that look like directives of a merge, and the env of the containers that the TrainJob has other
/// fields for.
api::FieldErrors check_patches(const api::Json& runtime, const api::Json& train_job_spec, PatchCheck purpose);

}  // namespace runtime
