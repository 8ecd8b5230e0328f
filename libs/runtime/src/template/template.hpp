#pragma once
#include "api/json.hpp"

namespace runtime {

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

}  // namespace runtime
