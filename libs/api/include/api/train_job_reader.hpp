#pragma once
#include "api/train_job.hpp"

namespace api {

/// As parse_train_job(), without a copy of the spec: it is taken out of the object.
TrainJob take_train_job(Json object);

/// Of a TrainJob's spec, with the CRD's defaults.
RuntimeRef parse_runtime_ref(const Json& spec);

}  // namespace api
