#pragma once
#include <string>

#include "api/json.hpp"
#include "api/train_job.hpp"
#include "runtime/pipeline.hpp"

namespace runtime {

/// Returns the name of the ConfigMap with the snapshot of a TrainJob's runtime.
std::string snapshot_name(std::string_view train_job_name);

/// Returns the ConfigMap with the snapshot of `runtime` for the job: immutable, owned by the TrainJob, the
/// runtime without its managedFields in YAML of block style, as the original writes it. A large one is JSON,
/// which the original reads as well.
api::Json make_snapshot(const api::TrainJob& job, const api::Json& runtime);

/// Returns the text whose SHA-256 is the digest of a runtime: its spec as JSON, of the members that runtimes
/// have. A runtime that is deleted and made again as it was has the same digest. One with a member that only
/// a later release knows has another digest from that release on.
std::string digested_text(const api::Json& runtime);

/// Returns the runtime in a snapshot, also in one of the original, without fields that runtimes lack. Fails
/// with
/// - `conflict` if the ConfigMap is not controlled by this TrainJob (mostly: by an earlier one of that name),
/// - `invalid` if it contains no runtime, or another one than the TrainJob names, or one of an impossible
/// shape or size.
api::Result<api::Json> read_snapshot(const api::Json& config_map, const api::TrainJob& job,
                                     const Pipeline& pipeline = default_pipeline());

}  // namespace runtime
