#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "api/json.hpp"
#include "api/object_key.hpp"
#include "api/train_job.hpp"

namespace cli {

/// The values of a runtime for each of its TrainJobs.
struct RuntimeFacts {
    std::int64_t nodes = 1;  ///< if the TrainJob sets none
    api::RunPolicy policy = {};
    api::Json resources = {};  ///< of the container that trains
};

/// The live runtimes, by namespace and name; cluster-scoped ones have no namespace.
using Runtimes = std::map<api::ObjectKey, RuntimeFacts>;

RuntimeFacts runtime_facts(const api::Json& runtime);

/// Returns the runtime of the TrainJob; nullptr if it is not among them.
const RuntimeFacts* find_runtime(const Runtimes& runtimes, const api::TrainJob& job);

/// Returns the GPUs of one node: resources whose name contains "gpu", of `spec.trainer.resourcesPerNode` in
/// place of the runtime's. Of several names, the sum of those that end in "/gpu", else the first. Claims do
/// not count.
std::int64_t gpus_per_node(const api::Json& of_runtime, const api::Json& per_node);

}  // namespace cli
