#pragma once
#include "api/field_error.hpp"
#include "api/json.hpp"

namespace runtime {

class ActivePlugins;

/// The labels, annotations and spec of the future JobSet: the runtime's template with the TrainJob's patches.
struct Template {
    api::Json labels = {};
    api::Json annotations = {};
    api::Json spec = {};
};

/// Merges `spec.runtimePatches` of a TrainJob into `spec.template` of a runtime, whose shapes have been
/// checked. Removes deadlines and TTLs (forbidden_fields.hpp), nulls and empty metadata. Fails at
/// "spec.runtimePatches[i]".
api::Result<Template> patched_template(const api::Json& runtime, const api::Json& train_job_spec);

/// The purpose of a check of patches.
enum class PatchCheck {
    admission,  ///< all rules
    build       ///< only the rules without which broken objects would be built
};

/// Adds errors for `spec.runtimePatches` of a TrainJob, given a runtime's template (shapes checked): names of
/// jobs and containers that the runtime lacks and no plugin adds, and keys with a meaning to this controller;
/// at admission also keys that look like directives of a merge, and env of containers for which the TrainJob
/// has other fields.
api::FieldErrors check_patches(const api::Json& runtime, const api::Json& train_job_spec,
                               const ActivePlugins& plugins, PatchCheck purpose);

}  // namespace runtime
