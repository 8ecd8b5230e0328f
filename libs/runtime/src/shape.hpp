#pragma once
#include "api/json.hpp"

namespace runtime {

/// Whether all that is edited in a runtime and read from a TrainJob is made of objects and lists where it
/// should be. The schemas see to that; an object that is older than they are, or a snapshot, must not crash
/// anybody.
api::Result<> check_runtime_shape(const api::Json& runtime);
/// Of a TrainJob's `spec`; paths begin with "spec".
api::Result<> check_train_job_shape(const api::Json& spec);

}  // namespace runtime
