#pragma once
#include "api/train_job.hpp"

namespace api {

/// Reads as parse_train_job(), but moves the spec out of the object.
TrainJob take_train_job(Json object);

/// Reads `runtimeRef` of a TrainJob's spec, with the CRD's defaults.
RuntimeRef parse_runtime_ref(const Json& spec);

}  // namespace api
