#pragma once
#include <string>

#include "api/json.hpp"
#include "api/train_job.hpp"
#include "runtime/pipeline.hpp"

namespace runtime {

/// Name of the ConfigMap that keeps a TrainJob's runtime as it was.
std::string snapshot_name(std::string_view train_job_name);

/// The ConfigMap that stores `runtime` for the job: immutable, owned by the TrainJob, the runtime as JSON
/// (which the original reads as well) without its managedFields.
api::Json make_snapshot(const api::TrainJob& job, const api::Json& runtime);

/// The runtime in a snapshot, also in one that the original wrote as YAML, without members that no runtime
/// has. Fails with
/// - `conflict` when the ConfigMap is not controlled by this TrainJob (mostly: an earlier one of that name),
/// - `invalid` when it holds no runtime, or not the one that the TrainJob names, or what no runtime can look
///   like or be as large as.
api::Result<api::Json> read_snapshot(const api::Json& config_map, const api::TrainJob& job,
                                     const Pipeline& pipeline = default_pipeline());

}  // namespace runtime
