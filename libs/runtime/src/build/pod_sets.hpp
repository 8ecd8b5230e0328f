#pragma once
#include <vector>

#include "api/json.hpp"
#include "runtime/active_plugins.hpp"
#include "runtime/info.hpp"

namespace runtime {

/// Returns the PodSets of a JobSetSpec, in its order, with their final numbers of Pods. `plugins` are those
/// of the runtime; `num_nodes` is the TrainJob's.
std::vector<PodSet> count_pods(const api::Json& spec, const ActivePlugins& plugins,
                               std::optional<std::int64_t> num_nodes);

/// Returns `pods` and so many replicas of a number of Pods; the largest number instead of an overflow. None
/// is negative.
std::int64_t with_pods(std::int64_t pods, std::int64_t replicas, std::int64_t of_replica);

/// Returns the number of Pods of the job that trains: `num_nodes` if it is set, else the policy's own number,
/// else 1.
std::int64_t nodes_that_train(const api::Json& ml_policy, std::optional<std::int64_t> num_nodes);

/// Returns whether the job is one of the three steps of a TrainJob, which run once each.
bool is_known_ancestor(std::string_view ancestor);

}  // namespace runtime
